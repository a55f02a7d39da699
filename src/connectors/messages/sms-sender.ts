import { AtmoError } from '../../core/errors.ts';
import type { Json } from '../../core/json.ts';
import { valueAt } from '../../core/json-pointer.ts';
import { readSecret } from '../../core/settings/secret-source.ts';
import { callEndpoint, jsonOf } from '../http/endpoint-call.ts';
import { requireAllowed } from './allowed-targets.ts';
import { configuredUrl } from './configured-url.ts';
import type { SmsConfig } from './sms-config.ts';
import { fillTemplate, type SmsValues } from './sms-template.ts';

const SERVICE = 'The SMS provider';
const MAX_ID = 256;

/** Hands text messages to the owner's provider over HTTP. CONFIG_INVALID for settings that cannot be. */
export class SmsSender {
  readonly #config: SmsConfig;
  readonly #url: URL;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(env: NodeJS.ProcessEnv, config: SmsConfig) {
    this.#config = config;
    this.#url = configuredUrl(config.url, 'connectors.sms.url');
    this.#headers = headersOf(config, config.secret === undefined ? undefined : readSecret(config.secret, env));
    if (config.format === 'form' && Object.values(config.body).some((value) => typeof value === 'object')) {
      throw new AtmoError('CONFIG_INVALID', 'connectors.sms.body has lists or objects, which a form cannot hold; set format to json');
    }
  }

  /** The provider's id of the message. Errors: those of `callEndpoint`, SERVICE_REFUSED for an answer without id, PERMISSION_DENIED. */
  async send(values: SmsValues, signal: AbortSignal): Promise<string> {
    const { allowedNumbers, idAt } = this.#config;
    requireAllowed([values.phone], allowedNumbers, 'connectors.sms.allowed_numbers');
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
    throw new AtmoError(
      'SERVICE_REFUSED',
      `${SERVICE} answered ${answer.status} without an id at ${idAt}, so it is not known to have taken it`,
      {
        status: answer.status,
      },
    );
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
