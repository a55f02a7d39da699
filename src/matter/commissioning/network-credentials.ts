import '../matter-platform.ts';
import { Bytes } from '@matter/main';
import { OperationalDataset } from '@matter/main/protocol';
import type { CredentialSet } from '../../core/devices/device-administration.ts';
import { AtmoError } from '../../core/errors.ts';
import { isJsonObject } from '../../core/json.ts';
import type { KeyValueStore } from '../../core/storage/key-value-store.ts';

const SPACE = 'credentials';
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
/** Maximum bytes of an SSID (IEEE 802.11 §9.4.2.2) and of a WPA passphrase or key (Core §11.9.7.3). */
const SSID_MAX_BYTES = 32;
const PASSWORD_MAX_BYTES = 64;
const DATASET_MAX_BYTES = 254;

/** Secret credentials with which a device joins a network. */
type NetworkCredentials =
  | { readonly kind: 'wifi'; readonly ssid: string; readonly password: string }
  | { readonly kind: 'thread'; readonly networkName: string; readonly datasetHex: string };

/** Stores named Wi-Fi and Thread credentials. The hub never shows the secrets: only the commissioner gets them, from `credentialsFor`. */
export class CredentialSetStore {
  readonly #store: KeyValueStore;

  constructor({ store }: { readonly store: KeyValueStore }) {
    this.#store = store;
  }

  list(): readonly CredentialSet[] {
    return this.#store.entries(SPACE).flatMap(({ key }) => {
      const set = this.#find(key);
      return set === undefined ? [] : [{ name: key, kind: set.kind, network: set.kind === 'wifi' ? set.ssid : set.networkName }];
    });
  }

  /** Stores Wi-Fi credentials under a name. Throws VALIDATION_ERROR if the name, the SSID or the password is not valid. */
  setWifi(name: string, ssid: string, password: string): void {
    checkName(name);
    const ssidBytes = Buffer.byteLength(ssid);
    if (ssidBytes < 1 || ssidBytes > SSID_MAX_BYTES)
      throw invalid(`An SSID has 1 to ${SSID_MAX_BYTES} bytes; this one has ${ssidBytes}`, '/ssid');
    if (!isWifiPassword(password)) {
      throw invalid('A Wi-Fi password is empty (open network), 8 to 63 printable ASCII characters, or 64 hexadecimal digits', '/password');
    }
    this.#store.set(SPACE, name, { kind: 'wifi', ssid, password });
  }

  /** Stores a Thread dataset (TLVs as hex text) and returns its public part. Throws VALIDATION_ERROR if the name or dataset is invalid. */
  setThread(name: string, datasetHex: string): CredentialSet {
    checkName(name);
    const { hex, networkName } = parseDataset(datasetHex);
    this.#store.set(SPACE, name, { kind: 'thread', networkName, datasetHex: hex });
    return { name, kind: 'thread', network: networkName };
  }

  remove(name: string): boolean {
    return this.#store.delete(SPACE, name);
  }

  /** Returns credentials with their secret. If the kind has no credentials of this name, throws NOT_FOUND with the existing names. */
  credentialsFor<Kind extends NetworkCredentials['kind']>(kind: Kind, name: string): Extract<NetworkCredentials, { kind: Kind }> {
    const set = this.#find(name);
    if (set?.kind === kind) return set as Extract<NetworkCredentials, { kind: Kind }>;
    const names = this.list()
      .filter((other) => other.kind === kind)
      .map((other) => other.name);
    const known = names.length === 0 ? 'there is none yet' : `there are ${names.join(', ')}`;
    throw new AtmoError('NOT_FOUND', `No ${kind} credentials are stored as ${JSON.stringify(name)}; ${known}`);
  }

  #find(name: string): NetworkCredentials | undefined {
    const value = this.#store.get(SPACE, name);
    if (!isJsonObject(value)) return undefined;
    if (value.kind === 'wifi' && typeof value.ssid === 'string' && typeof value.password === 'string') {
      return { kind: 'wifi', ssid: value.ssid, password: value.password };
    }
    if (value.kind === 'thread' && typeof value.networkName === 'string' && typeof value.datasetHex === 'string') {
      return { kind: 'thread', networkName: value.networkName, datasetHex: value.datasetHex };
    }
    return undefined;
  }
}

function checkName(name: string): void {
  if (!NAME.test(name))
    throw invalid('A name has 1 to 64 letters, digits, dots, dashes and underlines, and starts with a letter or digit', '/name');
}

function isWifiPassword(password: string): boolean {
  if (Buffer.byteLength(password) > PASSWORD_MAX_BYTES) return false;
  return password === '' || /^[\x20-\x7e]{8,63}$/.test(password) || /^[0-9a-fA-F]{64}$/.test(password);
}

/** Checks a Thread dataset; returns it in lower case without white space, and the name of its network. */
function parseDataset(datasetHex: string): { readonly hex: string; readonly networkName: string } {
  const hex = datasetHex.replace(/\s+/g, '').toLowerCase();
  if (!/^([0-9a-f]{2})+$/.test(hex)) throw invalid('A Thread dataset is an even number of hexadecimal digits', '/dataset');
  if (hex.length > DATASET_MAX_BYTES * 2) throw invalid(`A Thread dataset has at most ${DATASET_MAX_BYTES} bytes`, '/dataset');
  const dataset = decodeDataset(hex);
  const missing = (['networkKey', 'extPanId', 'panId', 'channel', 'networkName', 'activeTimestamp'] as const).filter(
    (field) => dataset[field] === undefined,
  );
  if (missing.length > 0)
    throw invalid(`The Thread dataset lacks ${missing.join(', ')}; take the active dataset of the network`, '/dataset');
  if (Bytes.of(dataset.networkKey ?? new Uint8Array()).length !== 16)
    throw invalid("The Thread dataset's network key is not 16 bytes", '/dataset');
  return { hex, networkName: dataset.networkName ?? '' };
}

function decodeDataset(hex: string): OperationalDataset {
  try {
    return OperationalDataset.decode(hex);
  } catch {
    // The decoder's own error message may quote bytes of the network key.
    throw invalid('The Thread dataset cannot be read: its TLV structure is broken or cut off', '/dataset');
  }
}

function invalid(message: string, pointer: string): AtmoError {
  return new AtmoError('VALIDATION_ERROR', message, { pointer });
}

const DATASET_PATH = '/node/dataset/active';
const TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 4_096;

/**
 * Fetches the active Thread dataset (TLVs as hex text) from the REST API of an OpenThread Border Router. `routerUrl` is the router's base
 * URL, such as `http://192.168.1.5:8081`. Throws VALIDATION_ERROR if the URL is wrong, DEVICE_UNREACHABLE if no router answers, NOT_FOUND
 * if it has no REST API or no Thread network, RESULT_INVALID if the response is no dataset, TIMEOUT after 5 s, and CANCELLED on abort.
 */
export async function fetchActiveDataset(
  routerUrl: string,
  options: { readonly signal: AbortSignal; readonly timeoutMs?: number },
): Promise<string> {
  const url = datasetUrl(routerUrl);
  const timeout = AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      headers: { accept: 'text/plain' },
      // Border routers never redirect; a redirect could send the request to any host.
      redirect: 'error',
      signal: AbortSignal.any([options.signal, timeout]),
    });
    checkStatus(url, response.status);
    return datasetOf(url, await readLimited(url, response));
  } catch (error) {
    if (error instanceof AtmoError) throw error;
    if (options.signal.aborted) throw new AtmoError('CANCELLED', 'Fetching the Thread dataset was stopped');
    if (timeout.aborted)
      throw new AtmoError('TIMEOUT', `The border router at ${url.origin} did not answer in time; is it running and in reach?`);
    throw new AtmoError(
      'DEVICE_UNREACHABLE',
      `No border router answers at ${url.origin}; check address and port (usually 8081)`,
      {},
      { cause: error },
    );
  }
}

function datasetUrl(routerUrl: string): URL {
  const url = URL.canParse(routerUrl) ? new URL(routerUrl) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    throw new AtmoError('VALIDATION_ERROR', 'The address of a border router has the form http://HOST:PORT, without user and password', {
      pointer: '/routerUrl',
    });
  }
  // The path is set, since one that begins with `//` would be resolved to another host.
  url.pathname = url.pathname.replace(/\/$/, '') + DATASET_PATH;
  url.search = '';
  url.hash = '';
  return url;
}

function checkStatus(url: URL, status: number): void {
  if (status === 200) return;
  if (status === 204)
    throw new AtmoError('NOT_FOUND', `The border router at ${url.origin} is in no Thread network yet: form or join one first`);
  if (status === 404)
    throw new AtmoError('NOT_FOUND', `${url.origin} has no OpenThread REST API at ${url.pathname}; check address and port (usually 8081)`);
  throw new AtmoError('RESULT_INVALID', `The border router at ${url.origin} answered with HTTP status ${status}`);
}

async function readLimited(url: URL, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > ANSWER_MAX_BYTES) throw notADataset(url);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Returns the dataset as hex text; older routers send it as a JSON string. The response is secret, so no error contains it. */
function datasetOf(url: URL, answer: string): string {
  const text = answer.trim().replace(/^"(.*)"$/, '$1');
  if (!/^([0-9a-fA-F]{2}){8,254}$/.test(text)) throw notADataset(url);
  return text;
}

function notADataset(url: URL): AtmoError {
  return new AtmoError(
    'RESULT_INVALID',
    `What ${url.origin} answers is no Thread dataset; is it an OpenThread Border Router of 2022 or later?`,
  );
}
