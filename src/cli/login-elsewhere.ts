import { PERSON_NAME } from '../core/access/approvals.ts';
import { AtmoError } from '../core/errors.ts';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { type Invocation, usage } from './command.ts';
import { HubClient } from './hub/hub-client.ts';
import { homeOf, loginPath, writeLogin } from './login-file.ts';
import { hubUrl, isOwnersToken, isSafeWay } from './state-dir.ts';
import { readInput } from './terminal/text-input.ts';

/**
 * Keeps a token that the owner minted for this person, for the hub at ATMO_URL: from another machine than the hub's, over TLS or a
 * tunnel. The hub is asked first whether the token holds and whose it is.
 */
export async function loginElsewhere(call: Invocation, given: string): Promise<undefined> {
  const url = hubUrl(call.io.env);
  if (!isSafeWay(url)) throw usage(`A login is kept for https:// or for the end of a tunnel on this machine, not for ${url}`);
  const token = await readInput(given, call.io);
  if (isOwnersToken(token))
    throw usage("The owner's token stays on the hub; mint one for yourself there: sudo atmo token mint --agent NAME --allow '*' --ttl 90d");
  const facts = await factsOf(call, token);
  const person = call.text('person') ?? String(facts.agent_id);
  const file = loginPath(homeOf(call.io.env));
  writeLogin(homeOf(call.io.env), { url, person, token });
  const answer = { person, url, file, expires_at: facts.expires_at ?? null };
  call.output.answer(answer, () => [
    `${person} is logged in at ${url} until ${facts.expires_at}; the token is in ${file}\n`,
    ...(PERSON_NAME.test(person)
      ? [`To approve from here: "atmo approver key" prints the key to enrol there, "sudo atmo approver enroll ${person} --key KEY"\n`]
      : []),
  ]);
  return undefined;
}

/** What the hub says of the token that asks. */
async function factsOf({ io }: Invocation, token: string): Promise<JsonObject> {
  const bearer = new HubClient({ fetch: io.fetch, signal: io.signal, env: { ...io.env, ATMO_TOKEN: token } });
  const facts = await bearer.call('hub:show_token', { token });
  if (isJsonObject(facts) && facts.state === 'valid') return facts;
  throw new AtmoError('TOKEN_INVALID', 'The hub does not take this token any more; mint another there: atmo token mint');
}
