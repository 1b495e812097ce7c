/** What a failed call proves. Every error of a client is a CallError. */

/** A call that failed. Its subclasses say whether the function ran. */
export class CallError extends Error {
  /** The Redis client's error, if there is one. */
  declare readonly cause?: unknown;

  /** fn is the function, "ratelimit.gcra", and code the first word of the server's error, if there was one. */
  constructor(readonly fn: string, text: string, readonly code = "", cause?: unknown) {
    super(`${fn}: ${text}`);
    this.name = new.target.name;
    this.cause = cause;
  }
}

/** An argument is out of bounds, or there is no such argument. Nothing was written. */
export class ArgumentError extends CallError {}

/** A key holds content that the function cannot read. Nothing was written. Delete the key to reset it. */
export class StateError extends CallError {
  constructor(fn: string, readonly key: string, problem: string, cause?: unknown) {
    super(fn, `key ${key.replace(/\{.*\}/s, "{...}")}: ${problem}; delete the key to reset it`, "RLSTATE", cause);
  }
}

/** An error that the function declares in its header. */
export class CodeError extends CallError {}

/** The function did not run, or it is read-only. You may call it again. */
export class NotRunError extends CallError {
  constructor(fn: string, text: string, code?: string, cause?: unknown) {
    super(fn, `nothing written: ${text}`, code, cause);
  }
}

/** The Redis user may not make this call. `rlfunc acl service` prints what it needs. */
export class NoPermissionError extends NotRunError {}

/** The server lacks the library or this function of it, and auto-load did not help. */
export class NotLoadedError extends NotRunError {}

/** The function may have run. Calling it again may charge twice. */
export class OutcomeUnknownError extends CallError {
  constructor(fn: string, text: string, code?: string, cause?: unknown) {
    super(fn, `outcome unknown, it may have run: ${text}`, code, cause);
  }
}

/** The function ran, but its reply does not follow the header. */
export class ReplyError extends CallError {}
