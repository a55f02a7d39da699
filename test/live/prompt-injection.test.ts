import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../src/core/json.ts';
import { describeAftermath } from './adversary/aftermath.ts';
import { type Attacker, type Exchange, isRefusal } from './adversary/attacker.ts';
import type { Attempt } from './adversary/attempt.ts';
import { BesiegedHome } from './adversary/besieged-home.ts';
import { DEVICE_PATHS } from './adversary/device-paths.ts';
import { DOORS } from './adversary/doors.ts';
import { describeEndings } from './adversary/endings.ts';
import { describeFrontDoor } from './adversary/front-door.ts';
import { LISTS } from './adversary/lists.ts';
import { NAMES } from './adversary/names.ts';
import { OVERHEARD } from './adversary/overheard.ts';
import { describeProof } from './adversary/proof.ts';
import { RIGHTS } from './adversary/rights.ts';
import { comparable, decoyOf, secretsIn, type Target } from './adversary/target.ts';
import { TOKENS } from './adversary/tokens.ts';

const ATTEMPTS = [...OVERHEARD, ...NAMES, ...DEVICE_PATHS, ...LISTS, ...RIGHTS, ...TOKENS, ...DOORS];

let home: BesiegedHome;
let decoy: Target;
let administration: JsonObject;
let ownTools: string;
const executed = new Set<string>();
const everything: Exchange[] = [];

beforeAll(async () => {
  home = await BesiegedHome.start();
  decoy = decoyOf(home.target);
  administration = await home.administration();
  ownTools = await toolsOf(home.attacker.again());
}, 180_000);

afterAll(() => home?.[Symbol.asyncDispose]());

describe('an agent with a token for one light', () => {
  test('has what it was given, and the hub has more', async () => {
    expect(ownTools).toContain('desk_lamp_turn_on');
    expect(secretsIn(JSON.stringify(administration), home.target)).toEqual(expect.arrayContaining(['saffron', 'weathervane', 'nightfall']));
    const { status } = await home.attacker.again().invoke('desk_lamp_turn_on', {});
    expect(status).toBe(200);
    expect(await home.lamp.get('light', 'OnOff', 'OnOff')).toBe(true);
  });

  test.for(ATTEMPTS)('reaches nothing by $name', async (attempt, { expect }) => {
    const before = await home.othersState();
    const real = await record(attempt, home.target);
    const imagined = await record(attempt, decoy);
    executed.add(attempt.name);

    expect(leaksOf(real), 'told of others').toEqual([]);
    if (attempt.wants === 'refused') expect(real.filter((exchange) => !isRefusal(exchange)).map(shown)).toEqual([]);
    if (!attempt.isAboutOwn) expect(differences(real, imagined), 'told from what is not there').toEqual([]);
    expect(await home.othersState()).toBe(before);
    expect(await toolsOf(home.attacker.again())).toBe(ownTools);
  });

  test('has tried at least 60 ways, each under a name of its own', () => {
    expect(new Set(ATTEMPTS.map(({ name }) => name)).size).toBe(ATTEMPTS.length);
    expect([...executed].sort()).toEqual(ATTEMPTS.map(({ name }) => name).sort());
    expect(executed.size).toBeGreaterThanOrEqual(60);
    console.info(`${executed.size} ways, ${everything.length} requests`);
  });

  test('has met no door that broke: every request was answered, none with an unexpected failure', () => {
    expect(everything.filter(({ status }) => status === 500 || status === 0).map(shown)).toEqual([]);
  });

  test('was never locked out, which would have hidden what it is told: its wrong tokens are fewer than that takes', () => {
    expect(everything.filter(({ body }) => body.includes('Too many wrong tokens')).map(shown)).toEqual([]);
  });

  test('has left everything as it was, and got no right that it did not have', async () => {
    expect(await home.administration()).toEqual(administration);
    expect(await home.grownRights()).toEqual([]);
  });
});

test('an agent with the one permission for its light alone gets no further either', async () => {
  const { token, id } = await home.mint('lamp-holder-alone', ['device:control:desk-lamp']);
  const before = await home.othersState();
  for (const attempt of [...NAMES, ...DEVICE_PATHS, ...LISTS, ...RIGHTS].filter(
    ({ wants, isAboutOwn }) => wants === 'refused' && !isAboutOwn,
  )) {
    const narrow = home.attacker.as(token);
    await run(attempt, narrow, home.target);
    expect(leaksOf(narrow.exchanges), attempt.name).toEqual([]);
    expect(narrow.exchanges.filter((exchange) => !isRefusal(exchange)).map(shown), attempt.name).toEqual([]);
  }
  expect(await home.othersState()).toBe(before);
  await home.hub.result('hub:revoke_token', { token_id: id });
});

test('the same questions would tell of others, were they asked with a token for everything', async () => {
  const { token, id } = await home.mint('steward', ['*']);
  const telling: string[] = [];
  for (const attempt of [...OVERHEARD, ...LISTS].filter(({ wants }) => wants === 'harmless')) {
    const steward = home.attacker.as(token);
    await run(attempt, steward, decoy);
    if (leaksOf(steward.exchanges).length > 0) telling.push(attempt.name);
  }
  await home.hub.result('hub:revoke_token', { token_id: id });
  expect(telling).toEqual(
    expect.arrayContaining([
      'the stream of all events',
      'events of a type that is not its own',
      'every list of tools',
      'every list of devices, by every filter',
      'the list of sensors, by every filter',
      'capabilities',
      'the description of the API',
    ]),
  );
});

describeEndings(() => home);
describeFrontDoor(() => home);
describeProof(
  () => home,
  () => everything,
);
describeAftermath(
  () => home,
  () => everything,
);

/** What the attempt was told, each time with a fresh record. */
async function record(attempt: Attempt, target: Target): Promise<readonly Exchange[]> {
  const attacker = home.attacker.again();
  await run(attempt, attacker, target);
  everything.push(...attacker.exchanges);
  return attacker.exchanges;
}

async function run(attempt: Attempt, attacker: Attacker, target: Target): Promise<void> {
  const stirring = attempt.isOverhearing ? home.stir() : undefined;
  await attempt.run(attacker, target);
  await stirring;
}

/** Secrets in answers to an attacker who had not said them itself. */
function leaksOf(exchanges: readonly Exchange[]): readonly string[] {
  let said = '';
  return exchanges.flatMap((exchange) => {
    said += exchange.said;
    const known = new Set(secretsIn(said, home.target));
    const told = secretsIn(exchange.heard, home.target).filter((word) => !known.has(word));
    return told.length === 0 ? [] : [`${told.join(', ')} in ${shown(exchange)}`];
  });
}

/** Answers by which what is there can be told from what is not. */
function differences(real: readonly Exchange[], imagined: readonly Exchange[]): readonly string[] {
  const pairs = real.map((exchange, index) => [exchange, imagined[index]] as const);
  const told = pairs.filter(([{ heard }, other]) => comparable(heard) !== comparable(other?.heard ?? ''));
  const count = real.length === imagined.length ? [] : [`${real.length} answers and not ${imagined.length}`];
  return [...count, ...told.map(([exchange, other]) => `${shown(exchange)}\n<>\n${other?.heard}`)];
}

function shown({ said, heard }: Exchange): string {
  return `${said.slice(0, 2_000)}\n=> ${heard}`;
}

async function toolsOf(attacker: Attacker): Promise<string> {
  const { body } = await attacker.get('/api/v1/tools?limit=1000');
  return (JSON.parse(body) as { tools: { id: string }[] }).tools.map(({ id }) => id).join('\n');
}
