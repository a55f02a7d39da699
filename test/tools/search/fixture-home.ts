import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_HOME_NAMES, parseDeviceId } from '../../../src/core/devices/device-names.ts';
import { basicTools } from '../../../src/tools/builtin/basic-tools.ts';
import type { RegisteredTool } from '../../../src/tools/definition/tool-definition.ts';
import { LexicalEntitySearch } from '../../../src/tools/search/entity-search.ts';
import { HomeSearch, type HomeSearchResult } from '../../../src/tools/search/home-search.ts';
import { LexicalToolSearch } from '../../../src/tools/search/tool-search.ts';
import { makeTool } from '../../calls/pipeline-fixture.ts';
import { described } from '../../profiles/device-fixtures.ts';
import { ToolHarness } from '../../profiles/tool-harness.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/search');

/** Rows of a file in `test/fixtures/search`. */
export function rowsOf<Row>(file: string): readonly Row[] {
  return JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as readonly Row[];
}

const FLOORS: Readonly<Record<string, string>> = { Bedroom: 'Upstairs', Bathroom: 'Upstairs', Kitchen: 'Downstairs', Hall: 'Downstairs' };

/** A home of 37 devices with all their tools and readings, and some of what a hub has besides. */
export interface FixtureHome {
  readonly tools: readonly RegisteredTool[];
  find(text: string): HomeSearchResult;
}

export async function fixtureHome(): Promise<FixtureHome> {
  const rows = rowsOf<readonly [id: string, type: string, name: string, area: string]>('home.json');
  const devices = rows.map(([id, type, name, area]) =>
    described(type, { hasAllElements: true, device: { id: parseDeviceId(id), name, area } }),
  );
  const hub = await new ToolHarness(...devices).start();
  const tools = [...hub.registry.all(), ...basicTools, ...hubTools(), reader];
  const search = new HomeSearch({
    tools: new LexicalToolSearch({ names: NO_HOME_NAMES, device: (id) => hub.home.get(parseDeviceId(id)) }),
    entities: new LexicalEntitySearch(),
  });
  const home = { devices: hub.home.list(), sensors: [...hub.readings.infos.values()] };
  const controller = tools.find(({ definition }) => definition.name === 'control_area');
  const floorOf = (area: string) => FLOORS[area];
  return { tools, find: (text) => search.find({ text }, { tools, home, reader, controller, floorOf }) };
}

/** `<device> <title>` of a tool. */
export function nameOf({ definition: { metadata, name } }: RegisteredTool): string {
  return metadata.device === undefined ? name : `${metadata.device} ${metadata.title}`;
}

const reader = makeTool({
  name: 'query_sensor',
  description: 'Reads a sensor: its latest value with age and reachability, or its history in a time range',
  metadata: { title: 'Query sensor', category: 'sensing', tags: ['sensor', 'measurement', 'history'] },
});

function hubTools(): readonly RegisteredTool[] {
  const acting = { execution: { side_effects: true } };
  const hub = { namespace: 'hub', ...acting };
  const title = (text: string) => ({ metadata: { title: text, category: 'managing' } });
  return [
    makeTool({
      ...hub,
      name: 'remove_device',
      description: 'Removes a device from the home and everything of it',
      ...title('Remove a device'),
    }),
    makeTool({ ...hub, name: 'interview_device', description: 'Asks a device for everything that it has', ...title('Interview a device') }),
    makeTool({ ...hub, name: 'take_snapshots', description: 'Makes copies of the databases', ...title('Copy the databases') }),
    makeTool({ ...hub, name: 'identify_device', description: 'Makes a device blink or beep', ...title('Identify a device') }),
    makeTool({
      ...hub,
      name: 'test_rules',
      description: 'Tells what the rules say to a call',
      metadata: { title: "Try the owner's rules", tags: ['dry run'] },
    }),
    makeTool({ name: 'text_search', description: 'Finds everything in a text that fits', ...title('Search in text') }),
    makeTool({
      ...acting,
      name: 'notify',
      description: 'Sends a message to a person',
      metadata: { title: 'Notify somebody', tags: ['alert'] },
    }),
  ];
}
