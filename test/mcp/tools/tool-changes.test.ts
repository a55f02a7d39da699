import { expect, it } from 'vitest';
import type { McpListener } from '../../../src/mcp/mcp-feature.ts';
import { ToolChanges } from '../../../src/mcp/tools/tool-feature.ts';
import { agent, makePipeline, makeTool } from '../../calls/pipeline-fixture.ts';

function makeChanges() {
  const { registry, clock } = makePipeline();
  const told: ((listener: McpListener) => boolean)[] = [];
  let tellOfMesh = () => {};
  const changes = new ToolChanges({
    registry,
    clock,
    remote: {
      onChange: (listener) => {
        tellOfMesh = () => listener();
        return () => {};
      },
    },
    notifier: { toolsChanged: (concerns) => told.push(concerns ?? (() => true)) },
    isListed: (_tool, view) => view.kind === 'devices',
    visibleTo:
      ({ permissions }) =>
      () =>
        permissions.length > 0,
  });
  return { registry, clock, told, changes, tellOfMesh: () => tellOfMesh() };
}

const heardBy = (concerns: ((listener: McpListener) => boolean) | undefined) =>
  (['devices', 'home'] as const).flatMap((kind) =>
    [agent('x:y'), agent()].map((principal) => concerns?.({ principal, view: { kind } }) ?? false),
  );

it('a tool that came is told once to those in whose list it can be seen', () => {
  const { registry, clock, told } = makeChanges();
  registry.register(makeTool({ name: 'a' }));
  registry.register(makeTool({ name: 'b' }));
  expect(told).toEqual([]);
  clock.advance(250);
  expect(told.map(heardBy)).toEqual([[true, false, false, false]]);
});

it('what changed on other hubs is told to every list of single tools', () => {
  const { clock, told, tellOfMesh } = makeChanges();
  tellOfMesh();
  clock.advance(250);
  expect(told.map(heardBy)).toEqual([[true, true, false, false]]);
});

it('nothing is told after the end', () => {
  const { registry, clock, told, changes } = makeChanges();
  registry.register(makeTool({ name: 'a' }));
  changes[Symbol.dispose]();
  clock.advance(250);
  expect(told).toEqual([]);
});
