import { AtmoError } from '../../core/errors.ts';

const DATASET_PATH = '/node/dataset/active';
const TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 4_096;

/**
 * Fetches the active operational dataset, TLV hex, from an OpenThread Border Router's REST API. `routerUrl` is its
 * base, such as `http://192.168.1.5:8081`. Errors: VALIDATION_ERROR (the URL), NOT_FOUND (no REST API there, or the
 * router is in no Thread network), DEVICE_UNREACHABLE, TIMEOUT after 5 s, RESULT_INVALID, CANCELLED.
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
      // A redirect would lead a request with no credentials to who knows where, and no border router sends one.
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
  return new URL(url.pathname.replace(/\/$/, '') + DATASET_PATH, url.origin);
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

/** The hex text, which older routers put into a JSON string. The answer itself is secret and never part of an error. */
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
