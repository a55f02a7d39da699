import { execFileSync } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { PERSON_NAME } from '../../core/auth/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import { asUser, type UserIds } from '../../core/files/owner-rights.ts';
import { type JsonObject, objectOf } from '../../core/json.ts';
import type { CliIo } from '../cli-io.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { objectsIn } from '../hub/answer-lists.ts';
import { HubClient } from '../hub/hub-client.ts';
import { hubOfStateDir, trustAuthority } from '../hub/hub-trust.ts';
import { openApproverKey, rawKeyOf } from '../identity/approver-key.ts';
import {
  approverKeyPath,
  findOwnerCredential,
  hubUrl,
  isOwnersToken,
  isSecureUrl,
  type Login,
  loginPath,
  readLogin,
  removeLogin,
  writeLogin,
} from '../identity/credential.ts';
import { signInWith } from '../identity/sign-in.ts';
import { configDir, configDirIn } from '../identity/user-files.ts';
import { readInput } from '../input.ts';

const PERMISSIONS = ['*', 'admin:approvals'];
const TTL_SECONDS = 90 * 86_400;

/** Gives a person a token and an approver key, so that nobody needs to share the owner's token and key. */
export const login: Command = {
  name: 'login',
  summary:
    "give yourself a token and an approver key of your own (with sudo, or as the hub's user); from another machine with an invitation",
  examples: ['login', 'login --person ann', 'login https://hub.local:8081 --fingerprint SHA256:AB:CD:…', 'login --token @ann.token'],
  operands: [
    {
      name: 'URL',
      help: 'hub to sign in at with an invitation of "atmo people invite NAME --cli"; its code is asked for',
      isOptional: true,
    },
  ],
  options: {
    fingerprint: { value: 'SHA256', help: 'fingerprint of the authority of the hub, as the invitation says' },
    person: { value: 'NAME', help: 'your name on this hub; your user name when absent' },
    token: { value: 'TOKEN', help: 'keep this token of "atmo token mint" for the hub at ATMO_URL: @FILE, or - for stdin' },
  },
  async run(call) {
    const [url] = call.operands;
    if (url !== undefined) return loginByInvitation(call, url);
    const given = call.text('token');
    if (given !== undefined) return loginWithToken(call, given);
    const user = loginUser(call.io.env);
    const person = personOf(call, user);
    const owner = new HubClient(call.io, { as: 'owner' });
    const key = asUser(user.ids, () => openApproverKey(approverKeyPath(user.dir)));
    const keyId = await enrolled(owner, person, key);
    const { token } = await owner.post('/api/v1/tokens', { agent_id: person, permissions: PERMISSIONS, ttl_seconds: TTL_SECONDS });
    if (typeof token !== 'string') throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
    const hubKey = rawHubKey(call);
    asUser(user.ids, () => writeLogin(user.dir, { url: hubUrl(call.io.env), person, token, ...(hubKey !== undefined && { hubKey }) }));
    const answer = { person, key_id: keyId, directory: user.dir, days: TTL_SECONDS / 86_400 };
    call.output.answer(answer, () => `${person} is logged in for ${answer.days} days; token and key are in ${answer.directory}\n`);
  },
};

/**
 * Signs in at a hub on another machine with the code of an invitation, which is asked for or read from stdin: the arguments of a program can
 * be read by every user of the machine. The authority of the hub is trusted only if it has the fingerprint.
 */
async function loginByInvitation(call: Invocation, text: string): Promise<void> {
  const { io } = call;
  const url = URL.parse(text);
  if (!url || !isSecureUrl(url.origin)) throw usage(`${JSON.stringify(text)} has to be an address such as https://hub.local:8081`);
  const fingerprint = call.text('fingerprint');
  if (fingerprint !== undefined) await trustAuthority(io.env, url, fingerprint);
  const code = (await io.askSecret('Code of the invitation: ')) ?? (await readInput('-', io));
  if (code.trim() === '') throw usage('The code is missing: type it when you are asked, or give it on stdin');
  const hub = new HubClient({ fetch: io.fetch, signal: io.signal, env: { ...io.env, ATMO_URL: url.origin } });
  const label = `atmo on ${hostname()}`;
  const { person, signIn } = await signInWith((path, body) => hub.postPublic(path, body), io, { url: url.origin, code, label });
  const answer = { person, url: url.origin, sign_in_id: signIn?.id ?? null, directory: configDir(io.env) };
  call.output.answer(answer, () => `${person} is signed in at ${url.origin} until somebody ends it; the login is in ${answer.directory}\n`);
}

const LOGOUT_MS = 10_000;

/**
 * Ends the sign-in on the hub, if there is one, and deletes the login. Afterwards the CLI uses another credential, such as the owner's token
 * if the user may read it.
 */
export const logout: Command = {
  name: 'logout',
  summary:
    'forget your login on this machine and, if an invitation made it, end it on the hub; another token ends with "atmo token revoke"',
  examples: ['logout'],
  async run({ io, output }) {
    const signIn = storedLogin(io.env)?.signIn;
    const problem = await problemOfSignOut(io);
    const wasLoggedIn = removeLogin(configDir(io.env));
    output.answer({ was_logged_in: wasLoggedIn, ...(signIn && { sign_in_ended: problem === undefined }) }, () => {
      if (!wasLoggedIn) return 'nobody was logged in\n';
      if (!signIn) return 'logged out on this machine; the token itself holds until its end, or until "atmo token revoke"\n';
      if (problem === undefined) return 'logged out; the hub has ended the sign-in too\n';
      return `logged out on this machine only. The hub did not end the sign-in: ${problem}\n"atmo people sign-out ${signIn.id}" ends it, on the hub or where you are signed in\n`;
    });
  },
};

/** Ends the login's sign-in on its hub. Returns why the hub did not; undefined if it did, or if there is no sign-in. */
async function problemOfSignOut({ env, fetch, signal }: CliIo): Promise<string | undefined> {
  const login = storedLogin(env);
  if (!login?.signIn) return undefined;
  // Only the login's own token may end its sign-in, whatever the environment says about other hubs and tokens.
  const own = { ...env, ATMO_TOKEN: undefined, ATMO_URL: login.url };
  const limit = AbortSignal.any([AbortSignal.timeout(LOGOUT_MS), ...(signal ? [signal] : [])]);
  try {
    await new HubClient({ fetch, env: own, signal: limit }).delete(`/api/v1/sign-ins/${encodeURIComponent(login.signIn.id)}`);
    return undefined;
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

/** Returns the login; undefined if there is none that may be used. A login that others could read is forgotten without the hub. */
function storedLogin(env: CliIo['env']): Login | undefined {
  try {
    return readLogin(env);
  } catch {
    return undefined;
  }
}

/** Returns the hub's public key, from the state directory that contains the owner's token. */
function rawHubKey({ io }: Invocation): string | undefined {
  const stateDir = findOwnerCredential(io.env)?.stateDir;
  const hub = stateDir === undefined ? undefined : hubOfStateDir(stateDir);
  return hub && rawKeyOf(hub.key);
}

function personOf(call: Invocation, user: LoginUser): string {
  const person = call.text('person') ?? user.name.toLowerCase();
  if (person === 'owner') throw usage("The owner needs no login: the hub's user has the owner's token. Say who you are with --person");
  if (PERSON_NAME.test(person)) return person;
  throw usage(`${JSON.stringify(person)} cannot be a name: 1 to 32 of a-z, 0-9, ".", "_", "-", the first a letter or digit; see --person`);
}

/** Returns the id of the person's key. If the key is not enrolled yet, enrols it with the owner's rights. */
async function enrolled(owner: HubClient, person: string, key: KeyObject): Promise<string> {
  const raw = rawKeyOf(key);
  const known = objectsIn(await owner.get('/api/v1/approvers'), 'approvers').find((one) => one.key === raw);
  if (known && known.person !== person)
    throw usage(`Your approver key is enrolled for ${known.person}; log in with --person ${known.person}`);
  const approver = known ?? (await owner.post('/api/v1/approvers', { person, key: raw, label: 'atmo login' }));
  return String(approver.key_id);
}

/**
 * Stores a token that the owner minted for this person. Before that, the hub at ATMO_URL must confirm that the token is valid. The hub may
 * be on another machine, which the CLI reaches over TLS or through a tunnel.
 */
async function loginWithToken(call: Invocation, given: string): Promise<void> {
  const url = hubUrl(call.io.env);
  const token = await readInput(given, call.io);
  if (isOwnersToken(token))
    throw usage(
      "The owner's token stays on the hub. Make one there: sudo atmo token mint --agent NAME --allow '*' --allow admin:approvals --ttl 90d",
    );
  const facts = await factsOf(call, token);
  const person = call.text('person') ?? String(facts.agent_id);
  const file = loginPath(configDir(call.io.env));
  writeLogin(configDir(call.io.env), { url, person, token });
  const answer = { person, url, file, expires_at: facts.expires_at ?? null };
  call.output.answer(answer, () => [
    `${person} is logged in at ${url} until ${facts.expires_at}; the token is in ${file}\n`,
    ...(PERSON_NAME.test(person)
      ? [`To approve from here: "atmo approver key" prints the key to enrol there, "sudo atmo approver enroll ${person} --key KEY"\n`]
      : []),
  ]);
}

/** Asks the hub about a token and returns the hub's response. Throws TOKEN_INVALID if the token is not valid. */
async function factsOf({ io }: Invocation, token: string): Promise<JsonObject> {
  const bearer = new HubClient({ fetch: io.fetch, signal: io.signal, env: { ...io.env, ATMO_TOKEN: token } });
  const facts = objectOf(await bearer.call('hub:show_token', { token }));
  if (facts.state === 'valid') return facts;
  throw new AtmoError('TOKEN_INVALID', 'The hub does not take this token any more; mint another there: atmo token mint');
}

/** Full path of getent, because the command may run as root with an unknown PATH. */
const GETENT = '/usr/bin/getent';

/** The user of this machine who logs in. Under sudo, this is the user who ran sudo. */
export interface LoginUser {
  readonly name: string;
  /** Directory with the user's logins and keys. */
  readonly dir: string;
  /** User id and group id of the files that the login writes. Absent if the process already has these ids. */
  readonly ids?: UserIds;
}

/** Returns the user who logs in. `lookUp` takes a user id and returns the user's line in the user database (passwd(5)). */
export function loginUser(env: CliIo['env'], lookUp: (uid: string) => string = passwdLine): LoginUser {
  const { SUDO_UID: uid, SUDO_GID: gid, SUDO_USER: name } = env;
  if (process.geteuid?.() !== 0 || uid === undefined || gid === undefined || name === undefined || uid === '0') {
    return { name: env.USER || userInfo().username, dir: configDir(env) };
  }
  const home = lookUp(uid).trim().split(':')[5];
  if (!home || !/^\d+$/.test(`${uid}${gid}`)) throw new AtmoError('NOT_FOUND', `The home directory of ${name} (user ${uid}) is not known`);
  return { name, dir: configDirIn(home), ids: { uid: Number(uid), gid: Number(gid) } };
}

function passwdLine(uid: string): string {
  try {
    return execFileSync(GETENT, ['passwd', uid], { encoding: 'utf8', timeout: 5_000 });
  } catch (cause) {
    throw new AtmoError('NOT_FOUND', `User ${uid} is not in the user database of this machine`, {}, { cause });
  }
}
