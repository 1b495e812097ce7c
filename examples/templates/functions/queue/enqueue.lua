--- Appends a job, if fewer than most are in the queue. A refused call writes nothing.
--- @key    jobs        hash[jobs] forever        'p:<id>' the payload of each job, 'a:<id>' how often it was handed out
--- @key    ready       list[ready] forever       ids of jobs that no worker has had, oldest first
--- @arg    id          text[64]                  the job, unique in the queue
--- @arg    payload     text[0..16384]            what the worker gets
--- @arg    most        count[1..1000000]=100000  most jobs in the queue, with those that workers have
--- @result outcome     enum(queued,known,full)   known: a job of this id is in the queue, and keeps its payload. full: try later
--- @result length      count[0..2000000]         jobs in the queue after the call, with those that workers have: 12
--- @refused outcome full
local function enqueue(jobs, ready, id, payload, most)
  local length = math.floor(redis.call('HLEN', jobs) / 2)
  if redis.call('HEXISTS', jobs, 'p:' .. id) == 1 then
    return 'known', length
  end
  if length >= most then
    return 'full', length
  end
  redis.call('HSET', jobs, 'p:' .. id, payload, 'a:' .. id, '0')
  redis.call('RPUSH', ready, id)
  return 'queued', length + 1
end
