import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { AtmoError } from '../../core/errors.ts';
import { isOwnFolder } from '../../core/files/owner-rights.ts';
import { hasScreen } from '../browser.ts';
import type { CliIo } from '../cli-io.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { approverKeyFile, rawKeyOf, readApproverKey } from '../identity/approver-key.ts';
import { approverKeyPath, type Credential, findCredential, isLoopback, readLogin } from '../identity/credential.ts';
import { configDir } from '../identity/user-files.ts';
import { type Block, paragraph, qrBlock } from '../terminal/blocks.ts';
import { OPENING } from './hub.ts';

export const monitor: Command = {
  name: 'monitor',
  summary: 'the address of the monitor page, with a link that signs you in',
  options: {
    open: { help: 'open it in the browser of this machine; the link is not shown' },
    qr: { help: 'show the link as a QR code too, for a phone' },
  },
  examples: ['monitor', 'monitor --open', 'monitor --qr'],
  async run(call) {
    if (call.isSet('open') && call.isSet('qr')) throw usage('Use either --open or --qr, not both');
    await requirePage(call);
    const here = call.hub.url;
    const url = call.isSet('qr') ? await addressForOthers(call) : here;
    const login = await pageLogin(call.hub, call.io.env);
    const link = pageLink(url, login);
    if (call.isSet('open')) return openHere(call, link);
    const picture = call.isSet('qr') && !call.output.isJson ? await qrBlock(link) : '';
    const answer = { url, link, person: login.person ?? null, may_approve: login.key !== undefined };
    // If stdout is no terminal, only the link is printed, so that a script can read it.
    call.output.answer(answer, () => (call.output.isTerminal ? [picture, `\n${link}\n\n`, ...advice(call, url)] : `${link}\n`));
    if (!call.output.isJson && !call.output.isTerminal) call.output.note(SECRET);
  },
};

const SECRET =
  'Whoever has this link can do what you can: open it yourself and show it to nobody. It is not kept anywhere; "atmo monitor" makes another.';

/** Throws NOT_FOUND if the hub serves no web page. This happens if the hub runs from sources and the page was not built. */
async function requirePage({ hub }: Invocation): Promise<void> {
  try {
    await (await hub.stream('/', {}, { accept: 'text/html' })).body?.cancel();
  } catch (error) {
    if (!(error instanceof AtmoError) || error.code !== 'NOT_FOUND') throw error;
    throw new AtmoError(
      'NOT_FOUND',
      'This hub has no monitor page: install the package again, or run "npm run build" in the checkout; then restart the hub',
    );
  }
}

async function addressForOthers({ hub }: Invocation): Promise<string> {
  if (!isLoopback(hub.url)) return hub.url;
  const { enabled, url } = await hub.get('/api/v1/tls');
  if (enabled === true && typeof url === 'string') return url;
  throw usage(`A phone cannot reach ${hub.url}; let the hub answer in your network first (http.host): ${OPENING}`);
}

async function openHere(call: Invocation, link: string): Promise<void> {
  const { env, openFile } = call.io;
  if (!hasScreen(env)) throw usage('There is no screen here to open a browser on; run "atmo monitor" and open the link that it shows');
  await openPrivateLink(link, openFile, call.io);
  call.output.answer({ url: call.hub.url, opened: true }, () => `${call.hub.url} is open in your browser\n`);
}

function advice(call: Invocation, url: string): readonly Block[] {
  const { env } = call.io;
  const tunnel = isLoopback(url) && env.SSH_CONNECTION ? [paragraph(tunnelAdvice(url, env)), paragraph('')] : [];
  return [...tunnel, paragraph(SECRET, { tone: 'quiet' })];
}

/** Returns the ssh command for a tunnel. It uses the same port at both ends, so that the link remains valid. */
function tunnelAdvice(url: string, env: Invocation['io']['env']): string {
  const { port } = new URL(url);
  const [, , host = 'HOST'] = (env.SSH_CONNECTION ?? '').split(' ');
  const user = env.USER || userInfo().username;
  return `You are here over SSH. On your own machine run "ssh -N -L ${port}:127.0.0.1:${port} ${user}@${host}", then open the link there.`;
}

/** A login for the web page. It has a token. For an approver it also has the person's name and the seed of the person's Ed25519 key. */
interface PageLogin {
  readonly token: string;
  readonly person?: string;
  /** Seed of the Ed25519 key: 32 bytes in base64url. */
  readonly key?: string;
}

const OWNER_TTL_SECONDS = 12 * 3_600;

/**
 * Returns the page login of the person at the command line. Its token is ATMO_TOKEN or the token of `atmo login`. If the person has only
 * the owner's token file, makes a new token for half a day. Throws UNAUTHENTICATED if there is no token.
 */
async function pageLogin(hub: HubClient, env: CliIo['env']): Promise<PageLogin> {
  const credential = findCredential(env);
  if (!credential)
    throw new AtmoError(
      'UNAUTHENTICATED',
      'You have no token to sign in with, neither a login nor ATMO_TOKEN nor the one of ATMO_STATE_DIR',
    );
  if (credential.source === 'owner') return ownersLogin(hub, credential);
  if (credential.source === 'login')
    return { token: credential.token, ...personsKey(readLogin(env)?.person, approverKeyPath(configDir(env))) };
  return { token: credential.token, ...(await enrolledKey(hub, env)) };
}

const OF_HUB = /^at[01]\.[A-Za-z0-9_.-]+$/;

/** Returns the page's URL with the login in its fragment, which browsers never send to a server. It is short enough for a QR code. */
function pageLink(url: string, login: PageLogin): string {
  const { token, person = '', key = '' } = login;
  if (OF_HUB.test(token)) return `${url}/#login=${[token, person, key].join('~').replace(/~+$/, '')}`;
  return `${url}/#login=${Buffer.from(JSON.stringify(login)).toString('base64url')}`;
}

async function ownersLogin(hub: HubClient, { stateDir = '' }: Credential): Promise<PageLogin> {
  const body = { agent_id: 'monitor', permissions: ['*', 'admin:*'], ttl_seconds: OWNER_TTL_SECONDS };
  const { token } = await hub.post('/api/v1/tokens', body);
  if (typeof token !== 'string') throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
  return { token, ...personsKey('owner', join(stateDir, 'owner.key')) };
}

function personsKey(person: string | undefined, file: string): Omit<PageLogin, 'token'> {
  if (person === undefined) return {};
  return existsSync(file) ? { person, key: seedOf(file) } : { person };
}

/** Returns the person and the seed of this user's approver key. Returns an empty object if no enrolled key can be found. */
async function enrolledKey(hub: HubClient, env: CliIo['env']): Promise<Omit<PageLogin, 'token'>> {
  try {
    const file = approverKeyFile(env, undefined);
    const raw = rawKeyOf(readApproverKey(file));
    const { person } = objectsIn(await hub.get('/api/v1/approvers'), 'approvers').find(({ key }) => key === raw) ?? {};
    return typeof person === 'string' ? personsKey(person, file) : {};
  } catch {
    return {};
  }
}

/** Returns the seed of an Ed25519 key. In the key's JWK the seed is the field `d` (RFC 8037). */
function seedOf(file: string): string {
  return readApproverKey(file).export({ format: 'jwk' }).d ?? '';
}

/** Milliseconds that the browser has to read the file before it is deleted. */
const KEPT_MS = 10_000;

/**
 * Opens a secret link in the browser. Every user of the machine can read a program's arguments, so the browser gets a file instead. Only
 * this user can read the file. The file redirects to the link, and is deleted soon after.
 */
async function openPrivateLink(link: string, open: (file: string) => Promise<void>, { env, sleep }: Pick<CliIo, 'env' | 'sleep'>) {
  const { XDG_RUNTIME_DIR: named } = env;
  const directory = mkdtempSync(join(named && isOwnFolder(named) ? named : tmpdir(), 'atmo-monitor-'));
  try {
    const file = join(directory, 'open.html');
    writeFileSync(file, forwardingPage(link), { mode: 0o600, flag: 'wx' });
    await open(file);
    await sleep(KEPT_MS);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function forwardingPage(link: string): string {
  const text = JSON.stringify(link).replaceAll('<', '\\u003c');
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>atmo monitor</title><script>location.replace(${text})</script>\n`;
}
