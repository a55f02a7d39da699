import { AtmoError } from '../../core/errors.ts';
import { certificateFailure } from '../http/certificate-failure.ts';

const SHOWN = 300;

interface SmtpTrouble {
  readonly code: string;
  readonly message: string;
  /** What the server answered: 4xx later, 5xx never (RFC 5321 §4.2.1). */
  readonly status?: number;
  readonly step?: string;
  /** What the system or TLS said, before nodemailer put a code of its own. */
  readonly originalCode: string;
}

/** How far a mail had come when something went wrong. */
interface SmtpProgress {
  /** The whole text of the mail had gone out, so that the server may have taken it. */
  readonly isSent: boolean;
  readonly signal: AbortSignal;
}

/** What a failure of an SMTP session means: an answer of the server is the truth, silence after the whole mail is not. */
export function smtpFailure(thrown: unknown, { isSent, signal }: SmtpProgress): unknown {
  const { code, message, status, step, originalCode } = troubleOf(thrown);
  const said = message.replaceAll(/\s+/g, ' ').slice(0, SHOWN);
  if (status !== undefined && status >= 400) {
    const details = { status, ...(step !== undefined && { step }) };
    if (status < 500) return new AtmoError('SERVICE_UNAVAILABLE', `The mail server takes no mail now: ${said}`, details);
    return new AtmoError('SERVICE_REFUSED', `The mail server refused: ${said}`, details);
  }
  const certificate = certificateFailure('The mail server', originalCode);
  if (certificate) return certificate;
  if (isSent) return new AtmoError('OUTCOME_UNKNOWN', 'The mail server did not say whether it took the mail; it may or may not arrive');
  if (signal.aborted) return signal.reason;
  if (code === 'EAUTH' || code === 'EENVELOPE' || code === 'EMESSAGE') {
    return new AtmoError('SERVICE_REFUSED', `The mail server cannot take this: ${said}`, { reason: code });
  }
  return new AtmoError('SERVICE_UNAVAILABLE', `The mail server cannot be used (${code}): ${said}; nothing was sent`, { reason: code });
}

function troubleOf(thrown: unknown): SmtpTrouble {
  if (!(thrown instanceof Error)) return { code: 'no answer', originalCode: '', message: 'the connection ended' };
  const { code, originalCode, responseCode, command }: Partial<Record<'code' | 'originalCode' | 'responseCode' | 'command', unknown>> =
    thrown as object;
  return {
    code: typeof code === 'string' ? code : 'no answer',
    originalCode: typeof originalCode === 'string' ? originalCode : '',
    message: thrown.message,
    ...(typeof responseCode === 'number' && responseCode > 0 && { status: responseCode }),
    ...(typeof command === 'string' && { step: command }),
  };
}
