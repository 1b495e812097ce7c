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

  -- An error that says what a row must be; place counts rows from 0, as the names of arguments do.
  function pack.refusal(group, place, text)
    return {err = string.format('RLARG %s.%d', group, place) .. text}
  end

  -- The error of a row that was refused when it was prepared, with the row's place.
  function pack.unprepared(group, place, refusal)
    if string.find(refusal.err, '^RLARG ') then
      return pack.refusal(group, place, '.' .. string.sub(refusal.err, 7))
    end
    return refusal
  end

  -- The rows of a text in which cells are joined by commas and every row ends in a semicolon: shape.row makes each of its cells,
  -- and holds it to shape.own, the rules of the function at hand, before it is prepared.
  -- Optional cells at the end of a row may be missing. Returns nil and a refusal when the text is not as the header says.
  function pack.rows(text, shape)
    local rows, at = {nil, nil}, 1
    while at <= #text do
      local place = #rows
      if place == shape.most then
        return nil, {err = shape.count}
      end
      local stop = string.find(text, ';', at, true)
      if not stop or stop - at > shape.bytes then
        return nil, pack.refusal(shape.group, place, string.format(' must end in ; after at most %d bytes', shape.bytes))
      end
      local cells, count = {}, 0
      if stop > at or shape.required == 1 then -- one cell may be empty
        for cell in string.gmatch(string.sub(text, at, stop - 1) .. ',', '([^,]*),') do
          count = count + 1
          cells[count] = cell
        end
      end
      if count < shape.required or count > shape.cells then
        return nil, pack.refusal(shape.group, place, string.format(' must have %d to %d cells, and has %d', shape.required, shape.cells, count))
      end
      for i = count + 1, shape.cells do
        cells[i] = ''
      end
      local row, refusal = shape.row(cells, place, rows, shape.group, shape.own)
      if refusal then
        return nil, refusal
      end
      rows[place + 1] = row
      at = stop + 1
    end
    if #rows < shape.least then
      return nil, {err = shape.count}
    end
    return rows
  end

  return pack
