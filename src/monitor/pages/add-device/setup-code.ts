/** A setup code as it can be sent, or what is wrong with the text so that a person can mend it. */
export type SetupCode = { readonly code: string } | { readonly mistake: string };

const QR_TEXT = /^MT:[0-9A-Z.-]{19,}$/;
const SEPARATORS = /[\s.\u2010-\u2015-]/g;

/** Reads what was typed, pasted or scanned: QR text, or a manual pairing code of 11 or 21 digits (Core §5.1.3, §5.1.4). */
export function readSetupCode(text: string): SetupCode {
  const trimmed = text.trim();
  if (/^mt:/i.test(trimmed)) return readQrText(trimmed.replaceAll(/\s/g, '').toUpperCase());
  const digits = trimmed.replaceAll(SEPARATORS, '');
  if (digits === '') return { mistake: 'Type the digits on the device or its box, or the text of its QR code.' };
  if (!/^\d+$/.test(digits)) return { mistake: 'A setup code is MT: and what follows, or digits alone.' };
  if (digits.length !== 11 && digits.length !== 21) return { mistake: `A setup code has 11 or 21 digits; these are ${digits.length}.` };
  return isVerhoeff(digits)
    ? { code: digits }
    : { mistake: 'One digit is wrong, or two are swapped: the last one does not fit the others.' };
}

function readQrText(text: string): SetupCode {
  return QR_TEXT.test(text) ? { code: text } : { mistake: 'The text of the QR code is not complete; it is MT: and at least 19 more.' };
}

const FIRST_PERMUTATION = [1, 5, 7, 6, 2, 8, 3, 0, 9, 4];

/** Whether the check digit at the end fits: Verhoeff's scheme, which finds each wrong digit and each swap of neighbours. */
function isVerhoeff(digits: string): boolean {
  let check = 0;
  for (const [position, digit] of [...digits].reverse().entries()) check = times(check, permuted(Number(digit), position % 8));
  return check === 0;
}

function permuted(digit: number, rounds: number): number {
  return rounds === 0 ? digit : permuted(FIRST_PERMUTATION[digit] ?? 0, rounds - 1);
}

/** Multiplication in the group of the symmetries of a pentagon. */
function times(a: number, b: number): number {
  if (a < 5) return b < 5 ? (a + b) % 5 : 5 + ((a + b) % 5);
  return b < 5 ? 5 + ((a - b) % 5) : (a - b + 5) % 5;
}
