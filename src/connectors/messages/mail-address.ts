/**
 * A plain mail address as browsers take it (HTML Living Standard, "valid email address"): no names, comments, lists, white space or
 * line breaks, so that nothing of it can become a header or a second address.
 */
export const MAIL_ADDRESS_PATTERN =
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$";

/** Longest address (RFC 5321 §4.5.3.1.3, without the angle brackets). */
export const MAX_MAIL_ADDRESS = 254;

/** JSON Schema of a mail address in the configuration file. */
export const MAIL_ADDRESS = { type: 'string', maxLength: MAX_MAIL_ADDRESS, pattern: MAIL_ADDRESS_PATTERN } as const;
