/** What a failed call proves. Every error of a client is a CallError. */

/** A call that failed. Its subclasses say whether the function ran. */
export class CallError extends Error {
  /** The function: "ratelimit.gcra". */
  readonly function: string;
  /** The client library's error, if there is one. */
  readonly cause?: unknown;

  constructor(fn: string, text: string, cause?: unknown) {
    super(`${fn}: ${text}`);
    this.name = new.target.name;
    this.function = fn;
    this.cause = cause;
  }
}

/** One or more arguments are out of bounds. Nothing was written. */
export class ArgumentError extends CallError {
  constructor(fn: string, readonly problems: readonly string[], cause?: unknown) {
    super(fn, problems.join("; "), cause);
  }
}

/** A key holds content that the function cannot read. Nothing was written. Delete the key to reset it. */
export class StateError extends CallError {
  constructor(fn: string, readonly key: string, readonly problem: string, cause?: unknown) {
    super(fn, `key ${key.replace(/\{.*\}/s, "{...}")}: ${problem}; delete the key to reset it`, cause);
  }
}

/** An error that the function declares in its header. */
export class CodeError extends CallError {
  constructor(fn: string, readonly code: string, readonly text: string, cause?: unknown) {
    super(fn, `${code} ${text}`.trim(), cause);
  }
}

/** The function did not run, or it is read-only. You may call it again. */
export class NotRunError extends CallError {
  constructor(fn: string, text: string, readonly code = "", cause?: unknown) {
    super(fn, `nothing written: ${text}`, cause);
  }
}

/** The server lacks the library or this function of it, and auto-load did not help. */
export class NotLoadedError extends NotRunError {}

/** The function may have run. Calling it again may charge twice. */
export class OutcomeUnknownError extends CallError {
  constructor(fn: string, text: string, readonly code = "", cause?: unknown) {
    super(fn, `outcome unknown, it may have run: ${text}`, cause);
  }
}

/** The function ran, but its reply does not follow the header. */
export class ReplyError extends CallError {}
