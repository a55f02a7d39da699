import { toAtmoError } from '../core/errors.ts';
import type { JsonObject } from '../core/json.ts';
import type { HubClient } from './hub/hub-client.ts';
import { objectsIn } from './hub/json-list.ts';
import { type Block, heading } from './terminal/page.ts';
import { padText } from './terminal/text-width.ts';

/** Where somebody who typed `atmo` alone stands: no hub yet, no token yet, no device yet, or at home. */
export type Standing =
  | { readonly kind: 'no-hub' }
  | { readonly kind: 'no-token'; readonly problem: string }
  | { readonly kind: 'no-devices' }
  | { readonly kind: 'home'; readonly devices: readonly JsonObject[]; readonly waiting: number };

/** Asks the hub, if one answers. Never throws. */
export async function standingAt(hub: HubClient): Promise<Standing> {
  try {
    await hub.health();
  } catch {
    return { kind: 'no-hub' };
  }
  try {
    const devices = objectsIn(await hub.get('/api/v1/devices'), 'devices');
    // The board itself is there from the beginning.
    if (devices.every(({ kind }) => kind === 'board')) return { kind: 'no-devices' };
    return { kind: 'home', devices, waiting: await waitingApprovals(hub) };
  } catch (error) {
    return { kind: 'no-token', problem: toAtmoError(error).message };
  }
}

async function waitingApprovals(hub: HubClient): Promise<number> {
  const answer = await hub.get('/api/v1/approvals').catch(() => ({}));
  return objectsIn(answer, 'approvals').filter(({ state }) => state === 'pending').length;
}

/** What is there, and what to type next. */
export function welcome(standing: Standing, url: string): readonly (string | Block)[] {
  const { state, next } = wordsFor(standing, url);
  const width = Math.max(...next.map(([command]) => command.length));
  const steps = next.map(([command, does]) => `  ${padText(command, width)}  ${does}\n`);
  return [
    'atmo brings Matter devices into one home and lets people and agents call them by name.\n',
    `\n${state}\n`,
    heading('Next'),
    ...steps,
  ];
}

type Step = readonly [command: string, does: string];

const ALL: Step = ['atmo --help', 'every command'];

function wordsFor(standing: Standing, url: string): { readonly state: string; readonly next: readonly Step[] } {
  switch (standing.kind) {
    case 'no-hub':
      return {
        state: `No hub answers at ${url}.`,
        next: [
          ['atmo serve', 'run a hub in this terminal'],
          ['sudo systemctl start atmosphere-edge', 'start the one that is installed'],
          ['atmo doctor', 'what this machine lacks'],
          ALL,
        ],
      };
    case 'no-token':
      return {
        state: `A hub answers at ${url}, but not to you: ${standing.problem}`,
        next: [['sudo atmo login', 'give yourself a token, once'], ['atmo doctor', 'what is wrong'], ALL],
      };
    case 'no-devices':
      return {
        state: `The hub at ${url} is well and has no devices yet.`,
        next: [
          ['atmo commission CODE', 'bring in a device: the code stands on it, or in its app'],
          ['atmo mesh join LINE', 'use the devices of another hub'],
          ['atmo monitor', 'the page for people'],
          ALL,
        ],
      };
    case 'home':
      return { state: homeText(standing, url), next: homeSteps(standing) };
  }
}

function homeText({ devices, waiting }: Extract<Standing, { kind: 'home' }>, url: string): string {
  const away = devices.filter(({ reachability }) => reachability !== 'reachable').length;
  const calls = waiting === 0 ? '' : ` ${waiting === 1 ? 'A call waits' : `${waiting} calls wait`} for your approval.`;
  return `The hub at ${url} has ${devices.length} ${devices.length === 1 ? 'device' : 'devices'}${away > 0 ? `, ${away} not reachable` : ''}.${calls}`;
}

function homeSteps({ waiting }: Extract<Standing, { kind: 'home' }>): readonly Step[] {
  return [
    ...(waiting > 0 ? [['atmo approvals', 'what waits for you'] as const] : []),
    ['atmo status', 'how the hub is'],
    ["atmo tools --search 'dim the hall'", 'find a tool in your own words'],
    ['atmo call TOOL key=value', 'use it'],
    ['atmo monitor', 'the page for people'],
    ['atmo mcp --agent NAME', 'connect an agent'],
    ALL,
  ];
}
