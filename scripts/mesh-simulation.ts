/**
 * How a mesh behaves as it grows: `node --expose-gc scripts/mesh-simulation.ts [hubs…]`, default 10, 100 and 300 hubs with 40 tools
 * each and 8 neighbours. Announcer, directory and exchanges are the real ones; network, links and clock are simulated.
 * docs/mesh-scale.md explains the figures.
 */
import { measureDirectory } from './simulation/measure-directory.ts';
import { type MeshFigures, measureMesh } from './simulation/measure-mesh.ts';

const ROWS: readonly (readonly [string, (figures: MeshFigures) => string | number])[] = [
  ['hubs', ({ hubs }) => hubs],
  ['all know all from a cold start, simulated ms', ({ coldMs }) => coldMs],
  ['a new tool is known to half of the hubs, ms', ({ newToolMs }) => newToolMs.half],
  ['a new tool is known to all, with its definition, ms', ({ newToolMs }) => newToolMs.all],
  ['a late joiner knows all, ms', ({ joinerMs }) => joinerMs.knows],
  ['the late joiner is known to all, ms', ({ joinerMs }) => joinerMs.isKnown],
  ['gossip messages sent, per hub and hour', ({ perHubAndHour }) => perHubAndHour.gossipMessages],
  ['gossip sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.gossipMegabytes],
  ['comparisons with neighbours sent, MB per hub and hour', ({ perHubAndHour }) => perHubAndHour.syncMegabytes],
  ['announcements opened, per hub and hour', ({ perHubAndHour }) => perHubAndHour.opened],
];

const given = process.argv.slice(2).map(Number).filter(Number.isInteger);
const sizes = given.length > 0 ? given : [10, 100, 300];
// Before the meshes: what they leave behind would be counted.
const directories = sizes.map((hubs) => measureDirectory({ hubs, tools: 40 }));
for (const [index, hubs] of sizes.entries()) {
  const figures = await measureMesh({ hubs, tools: 40, degree: 8 });
  for (const [label, value] of ROWS) console.log(`${label.padEnd(64)} ${value(figures)}`);
  const memory = directories[index];
  console.log(
    `${'directory of one hub, MB of heap (its own estimate)'.padEnd(64)} ${memory?.heapMegabytes} (${memory?.estimatedMegabytes})`,
  );
  console.log(`${'the same once all tools were listed'.padEnd(64)} ${memory?.withCatalogueMegabytes}`);
  console.log('');
}
