import type { AtmoError, ErrorCode } from '../core/errors.ts';

const STEPS: Readonly<Partial<Record<ErrorCode, string>>> = {
  UNAUTHENTICATED: 'sudo atmo login on the hub gives you a token, once; on another machine: atmo login --token with one of atmo token mint',
  TOKEN_EXPIRED: 'sudo atmo login gives you a new token; for an agent, atmo token mint',
  TOKEN_INVALID: 'sudo atmo login gives you a new token; for an agent, atmo token mint',
  RULE_BLOCKED: 'atmo rules lists them; atmo rules test TOOL tells which one decides',
  TOOL_NOT_FOUND: "atmo tools --search 'what it does' finds one",
  AMBIGUOUS_TOOL: 'atmo tools lists them with their whole names',
  DEVICE_NOT_FOUND: 'atmo devices lists them',
  AMBIGUOUS_DEVICE: 'atmo devices lists them with their ids',
  SENSOR_NOT_FOUND: 'atmo sensors lists them',
  JOB_NOT_FOUND: 'atmo jobs lists them',
  DEVICE_UNREACHABLE: 'atmo device ping DEVICE asks whether it is there; see that it has power',
  COMMISSIONING_FAILED: 'atmo half-commissioned tells what is left of it; atmo doctor looks at the network',
  STORAGE_FAILED: 'atmo doctor looks at the disk and its permissions',
};

/** Other refusals do not end with another token. */
const WIDER_TOKEN = 'atmo token show - tells what a token may do; atmo token mint makes another';

/** By what a message says, where the code alone does not tell what would help. */
const STEPS_BY_MESSAGE: readonly (readonly [code: ErrorCode, said: RegExp, step: string])[] = [
  ['NOT_FOUND', /^No device, or more than one, has or had the name /, 'atmo device names lists them'],
  ['NOT_FOUND', /^There is no hub /, 'atmo mesh peers lists them'],
  ['NOT_FOUND', /^There is no agent /, 'atmo agents lists them'],
  ['VALIDATION_ERROR', /^Sensor id /, 'atmo sensors lists them'],
];

/** What to type after an error, unless its message says so itself. */
export function nextStep({ code, message, details }: AtmoError): string | undefined {
  if (message.includes('atmo ')) return undefined;
  if (code === 'PERMISSION_DENIED' && 'required' in details) return WIDER_TOKEN;
  return STEPS[code] ?? STEPS_BY_MESSAGE.find(([of, said]) => of === code && said.test(message))?.[2];
}
