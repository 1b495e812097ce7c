  local pack = {}

  -- The text of a cell, where bytes that are not plain are written %hh; nil when the cell is none.
  function pack.text(cell)
    if not string.find(cell, '[^A-Za-z0-9_.@+/=-]') then
      return cell
    end
    local plain = string.gsub(cell, '%%[0-9a-f][0-9a-f]', '')
    if string.find(plain, '[^A-Za-z0-9_.@+/=-]') then
      return nil
    end
    return (string.gsub(cell, '%%(..)', function(digits)
      return string.char(tonumber(digits, 16))
    end))
  end

  -- Prepares a row that was read, and adds its place to a refusal.
  local function prepared(prepare, row, above, group)
    local _, refusal = prepare(row, above)
    if refusal then
      local about = string.match(refusal.err, '^RLARG (.*)')
      error(about and {err = 'RLARG ' .. group .. '.' .. #above .. '.' .. about} or refusal, 0)
    end
  end

  -- Returns the function that reads a group's rows from their text, in which cells are joined by commas and every row ends in a semicolon;
  -- optional cells at its end may be missing. `read` makes a row of its cells, `own` holds it to the function's rules, and `prepare` is the
  -- lib file's. Rows are kept by their text, for every call: nothing may write to them. When the young generation holds 64 texts it becomes
  -- the old one, and what that held is forgotten; what is used again comes back from there.
  function pack.rows(group, least, most, required, width, bytes, read, own, prepare)
    local young, old, kept = {}, {}, 0

    local function decode(text)
      local rows, at = {nil, nil}, 1
      while at <= #text do
        local place = #rows
        if place == most then
          break
        end
        rlfunc.in_row(group, place)
        local stop = string.find(text, ';', at, true)
        if not stop or stop - at > bytes then
          rlfunc.refuse('', 'end in ; after at most ' .. bytes .. ' bytes')
        end
        local cells, count = {}, 0
        if stop > at or required == 1 then -- one cell may be empty
          for cell in string.gmatch(string.sub(text, at, stop - 1) .. ',', '([^,]*),') do
            count = count + 1
            cells[count] = cell
          end
        end
        if count < required or count > width then
          rlfunc.refuse('', string.format('have %d to %d cells, and has %d', required, width, count))
        end
        local row = read(cells)
        if own then
          own(row)
        end
        if prepare then
          prepared(prepare, row, rows, group)
        end
        rows[place + 1] = row
        at = stop + 1
      end
      rlfunc.in_row(nil)
      if at <= #text or #rows < least then
        rlfunc.refuse(group, string.format('have %d to %d rows', least, most))
      end
      return rows
    end

    return function(text)
      local rows = young[text]
      if rows then
        return rows
      end
      rows = old[text] or decode(text)
      if #text <= 4096 then
        if kept == 64 then
          old = young
          young = {}
          kept = 0
        end
        young[text] = rows
        kept = kept + 1
      end
      return rows
    end
  end

  return pack
