-- http-request lua.forward_auth LISTENER: asks rlfunc serve about a request, and refuses it if the answer is not 2xx.

local url = "http://forward-auth/forward-auth"
local timeout_ms = 3000
-- The body is not sent; the others say how a connection is used, or what serve reads from other proxies.
local dropped = {
	["connection"] = true, ["content-length"] = true, ["expect"] = true, ["host"] = true, ["keep-alive"] = true,
	["te"] = true, ["trailer"] = true, ["transfer-encoding"] = true, ["upgrade"] = true,
	["x-original-method"] = true, ["x-original-uri"] = true, ["x-original-url"] = true,
}

local function headers_of(txn)
	local headers = {}
	for name, lines in pairs(txn.http:req_get_headers()) do
		if not dropped[name] then
			headers[name] = {}
			for i = 0, #lines do -- its first line is number 0
				table.insert(headers[name], lines[i])
			end
		end
	end
	headers["x-forwarded-method"] = { txn.f:method() }
	headers["x-forwarded-uri"] = { txn.f:pathq() }
	headers["x-forwarded-host"] = { txn.f:req_fhdr("host") }
	headers["x-forwarded-for"] = { txn.f:src() }
	return headers
end

local function first(headers, name)
	return headers and headers[name] and (headers[name][0] or headers[name][1])
end

core.register_action("forward_auth", { "http-req" }, function(txn, listener)
	local answer = core.httpclient():get({ url = url, dst = listener, headers = headers_of(txn), timeout = timeout_ms })
	local status = answer and tonumber(answer.status) or 0
	if status >= 200 and status < 300 then
		txn:set_var("txn.ratelimit", first(answer.headers, "ratelimit"))
		txn:set_var("txn.ratelimit_policy", first(answer.headers, "ratelimit-policy"))
		return
	end
	if status < 400 then
		status = 503
	end
	local headers = {}
	for _, name in ipairs({ "content-type", "cache-control", "ratelimit", "ratelimit-policy", "retry-after" }) do
		local line = first(answer and answer.headers, name)
		if line then
			headers[name] = { line }
		end
	end
	txn:done(txn:reply({ status = status, headers = headers, body = answer and answer.body or "" }))
end, 1)
