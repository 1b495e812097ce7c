/** Units are types: a duration is not a count, and neither is money. */

/** Whole microseconds. Make one with seconds(1.5) and the like. */
export type Duration = number & { readonly unit: "microseconds" };

/** Whole microseconds since 1970. Make one with fromDate. */
export type Time = number & { readonly unit: "microseconds since 1970" };

/** Millionths of any currency. */
export type Micros = number & { readonly unit: "millionths" };

/** A plain number of an argument: a duration, a time or money is a mistake in its place. */
export type Count = number & { readonly unit?: undefined };

/** What a key belongs to: a user, an address. A string is sent as UTF-8. Any bytes are safe. */
export type Subject = string | Uint8Array;

/**
 * Bytes, or a string that is sent as UTF-8. Bytes that are not UTF-8 come back as lone surrogates, U+DC80 to U+DCFF, which are sent as
 * those bytes again.
 */
export type Text = string | Uint8Array;

// A wait that is cut short would be refused again, so durations are rounded up. A thousandth less is an error of floating point.
const whole = (us: number): number => (Math.abs(us - Math.round(us)) < 1e-3 ? Math.round(us) : Math.ceil(us));

export const microseconds = (n: number): Duration => whole(n) as Duration;
export const milliseconds = (n: number): Duration => whole(n * 1e3) as Duration;
export const seconds = (n: number): Duration => whole(n * 1e6) as Duration;
export const minutes = (n: number): Duration => whole(n * 60e6) as Duration;
export const hours = (n: number): Duration => whole(n * 3600e6) as Duration;
export const days = (n: number): Duration => whole(n * 86400e6) as Duration;

/** Returns milliseconds, rounded up, for setTimeout. */
export const toMilliseconds = (d: Duration): number => Math.ceil(d / 1e3);

/** Returns seconds with their fraction. */
export const toSeconds = (d: Duration): number => d / 1e6;

/** Returns the time of a Date, which has milliseconds. */
export const fromDate = (date: Date): Time => (date.getTime() * 1e3) as Time;

/** Returns a Date, rounded down to a millisecond. */
export const toDate = (t: Time): Date => new Date(Math.floor(t / 1e3));

/** Returns millionths. Reject fractions yourself: micros(0.5) is out of bounds. */
export const micros = (n: number): Micros => n as Micros;
