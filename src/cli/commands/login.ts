import type { KeyObject } from 'node:crypto';
import { PERSON_NAME } from '../../core/access/approvals.ts';
import { AtmoError } from '../../core/errors.ts';
import { type Command, type Invocation, usage } from '../command.ts';
import { HubClient } from '../hub/hub-client.ts';
import { hubOfStateDir } from '../hub/hub-proof.ts';
import { objectsIn } from '../hub/json-list.ts';
import { openApproverKey, rawKeyOf } from '../identity/approver-key.ts';
import { asUser, type LoginUser, loginUser } from '../identity/login-user.ts';
import { loginElsewhere } from '../login-elsewhere.ts';
import { approverKeyPath, configDir, homeOf, removeLogin, writeLogin } from '../login-file.ts';
import { findOwnerCredential, hubUrl } from '../state-dir.ts';

const PERMISSIONS = ['*', 'admin:approvals'];
const TTL_SECONDS = 90 * 86_400;

/** A token and an approver key of one's own, instead of sharing the owner's. */
export const login: Command = {
  name: 'login',
  summary: "give yourself a token and an approver key of your own (with sudo, or as the hub's user); from another machine with --token",
  examples: ['login', 'login --person ann', 'login --token @ann.token'],
  options: {
    person: { value: 'NAME', help: 'your name on this hub; your user name when absent' },
    token: { value: 'TOKEN', help: 'keep this token of "atmo token mint" for the hub at ATMO_URL: @FILE, or - for stdin' },
  },
  async run(call) {
    const given = call.text('token');
    if (given !== undefined) return loginElsewhere(call, given);
    const user = loginUser(call.io.env);
    const person = personOf(call, user);
    const owner = new HubClient(call.io, { as: 'owner' });
    const key = asUser(user, () => openApproverKey(approverKeyPath(user.home)));
    const keyId = await enrolled(owner, person, key);
    const { token } = await owner.post('/api/v1/tokens', { agent_id: person, permissions: PERMISSIONS, ttl_seconds: TTL_SECONDS });
    if (typeof token !== 'string') throw new AtmoError('HUB_UNREACHABLE', 'The hub made no token; is it a hub of this version?');
    const hubKey = rawHubKey(call);
    asUser(user, () => writeLogin(user.home, { url: hubUrl(call.io.env), person, token, ...(hubKey !== undefined && { hubKey }) }));
    const answer = { person, key_id: keyId, directory: configDir(user.home), days: TTL_SECONDS / 86_400 };
    call.output.answer(answer, () => `${person} is logged in for ${answer.days} days; token and key are in ${answer.directory}\n`);
    return undefined;
  },
};

/** Back to the token that comes next: the owner's, where it can be read. */
export const logout: Command = {
  name: 'logout',
  summary: 'forget your login on this machine; your token ends with "atmo token revoke"',
  examples: ['logout'],
  async run({ io, output }) {
    const wasLoggedIn = removeLogin(homeOf(io.env));
    output.answer({ was_logged_in: wasLoggedIn }, () => (wasLoggedIn ? 'logged out\n' : 'nobody was logged in\n'));
    return undefined;
  },
};

/** Public half of the key in the state directory that the owner's token came from. */
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

/** Id of the person's key, enrolled at the first login; the owner's own key agrees to it. */
async function enrolled(owner: HubClient, person: string, key: KeyObject): Promise<string> {
  const raw = rawKeyOf(key);
  const known = objectsIn(await owner.get('/api/v1/approvers'), 'approvers').find((one) => one.key === raw);
  if (known && known.person !== person)
    throw usage(`Your approver key is enrolled for ${known.person}; log in with --person ${known.person}`);
  const approver = known ?? (await owner.post('/api/v1/approvers', { person, key: raw, label: 'atmo login' }));
  return String(approver.key_id);
}
