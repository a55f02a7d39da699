import { AtmoError } from '../../core/errors.ts';
import { isJsonObject, type Json, valueAt } from '../../core/json.ts';
import { defineTool, p } from '../../tools/definition/define-tool.ts';
import type { RegisteredTool } from '../../tools/definition/tool-definition.ts';
import { optionalSecret, resultSchema } from '../connector.ts';
import { callEndpoint, jsonOf } from '../http-client/endpoint-call.ts';
import { configuredUrl, PHONE_PATTERN, requireAllowedTargets, type SmsConfig } from './messages-config.ts';

const SERVICE = 'The SMS provider';
const MAX_ID = 256;

/** Sends text messages through the owner's provider over HTTP. Throws CONFIG_INVALID for contradictory settings or an unreadable secret. */
export class SmsSender {
  readonly #config: SmsConfig;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(env: NodeJS.ProcessEnv, config: SmsConfig) {
    this.#config = config;
    this.#url = configuredUrl(config.url, 'connectors.sms.url');
    this.#headers = headersOf(config, optionalSecret(config.secret, env));
    if (config.format === 'form' && Object.values(config.body).some((value) => typeof value === 'object')) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.sms.body has lists or objects, which a form cannot hold; set format to json');
    }
  }

  /** Sends a message and returns its id. Rejects like `callEndpoint`, and with PERMISSION_DENIED if the number is not allowed. */
  async send(values: SmsValues, signal: AbortSignal): Promise<string> {
    const { allowedNumbers, idAt } = this.#config;
    requireAllowedTargets([values.phone], allowedNumbers, 'connectors.sms.allowed_numbers');
    const answer = await callEndpoint({
      service: SERVICE,
      url: this.#url,
      method: 'POST',
      headers: this.#headers,
      body: this.#bodyOf(values),
      isActing: true,
      signal,
    });
    const id = valueAt(jsonOf({ service: SERVICE }, answer), idAt);
    if (typeof id === 'string' && id !== '' && id.length <= MAX_ID) return id;
    if (typeof id === 'number') return String(id);
    const message = `${SERVICE} answered ${answer.status} without an id at ${idAt}, so it is not known to have taken it`;
    throw new AtmoError('SERVICE_REFUSED', message, { status: answer.status });
  }

  #bodyOf(values: SmsValues): string {
    const filled = fillTemplate(this.#config.body, values) as Readonly<Record<string, Json>>;
    if (this.#config.format === 'json') return JSON.stringify(filled);
    return new URLSearchParams(Object.entries(filled).map(([name, value]): [string, string] => [name, String(value)])).toString();
  }
}

function headersOf({ headers = {}, user, format }: SmsConfig, secret: string | undefined): Readonly<Record<string, string>> {
  const needsSecret = user !== undefined || Object.values(headers).some((value) => value.includes('{secret}'));
  if (needsSecret && secret === undefined) throw new AtmoError('CONFIG_INVALID', 'connectors.sms uses a secret; set connectors.sms.secret');
  const filled = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.replaceAll('{secret}', () => secret ?? '')]);
  return {
    'content-type': format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    ...(user !== undefined && { authorization: `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}` }),
    ...Object.fromEntries(filled),
  };
}

/** The values that replace `{phone}`, `{message}` and `{id}`, which is the same for all attempts to send a message. */
type SmsValues = Readonly<Record<'phone' | 'message' | 'id', string>>;

const PLACEHOLDER = /\{(phone|message|id)\}/g;

/** Returns a request body with values in place of its placeholders. Text in a value that looks like a placeholder is not replaced. */
function fillTemplate(template: Json, values: SmsValues): Json {
  if (typeof template === 'string') return template.replaceAll(PLACEHOLDER, (_, name: keyof SmsValues) => values[name]);
  if (Array.isArray(template)) return template.map((item: Json) => fillTemplate(item, values));
  if (!isJsonObject(template)) return template;
  return Object.fromEntries(Object.entries(template).map(([key, item]) => [key, fillTemplate(item, values)]));
}

/** Longest message in characters: ten SMS parts, the maximum of most providers. */
const MAX_MESSAGE = 1_530;

/** Returns `send_sms`, which sends a text message through the configured provider. */
export function sendSmsTool(sms: Pick<SmsSender, 'send'>): RegisteredTool {
  return defineTool(
    {
      name: 'send_sms',
      title: 'Send SMS',
      description:
        'Sends a text message to a phone; it costs the owner money. Use notify instead to tell somebody of the house something. ' +
        'Example: {"phone": "+4915112345678", "message": "Water in the cellar!"}',
      category: 'communicating',
      capabilities: ['sms'],
      permissions: ['sms:send'],
      hasSideEffects: true,
      needsNetwork: true,
      isAsyncAllowed: true,
      tags: ['sms', 'phone', 'message'],
      parameters: {
        phone: p.string({ description: 'Number with the code of its country (E.164), such as +4915112345678', pattern: PHONE_PATTERN }),
        message: p.string({ description: 'Text; about 150 characters are one message to pay for', minLength: 1, maxLength: MAX_MESSAGE }),
      },
      returns: resultSchema(['delivered', 'sid'], {
        delivered: { type: 'boolean', description: 'True when the provider took the message; whether the phone is on is not known' },
        sid: { type: 'string', description: "The provider's id of the message" },
      }),
      examples: [{ description: 'An alarm', params: { phone: '+4915112345678', message: 'Water in the cellar!' } }],
    },
    async ({ phone, message }, { signal, requestId: id }) => ({ delivered: true, sid: await sms.send({ phone, message, id }, signal) }),
  );
}
