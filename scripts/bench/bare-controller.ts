/**
 * What the hub is measured against: matter.js as a controller behind the smallest HTTP server, nothing else.
 * Arguments: the folder of its fabric. POST /commission {code} → {peer}; POST /switch {peer, on} → {ms, on}, where `ms`
 * is the time of the invoke and the read alone, without HTTP. Ends with SIGTERM.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Environment, Logger, LogLevel, Seconds, ServerNode } from '@matter/main';
import { OnOff } from '@matter/main/clusters/on-off';
import { type ClientNode, ControllerBehavior } from '@matter/main/node';
import { Read } from '@matter/main/protocol';
import { EndpointNumber, ManualPairingCodeCodec } from '@matter/main/types';
import { AtmoError } from '../../src/core/errors.ts';
import type { JsonObject } from '../../src/core/json.ts';

const LIGHT = EndpointNumber(1);
const [directory = '.'] = process.argv.slice(2);

Logger.level = LogLevel('fatal');
Environment.default.vars.set('storage.path', directory);
Environment.default.vars.set('mdns.networkInterface', 'eth0');
const node = await ServerNode.create(ServerNode.RootEndpoint.with(ControllerBehavior), {
  id: 'bare',
  commissioning: { enabled: false },
  controller: { adminFabricLabel: 'Bare', ble: false },
  network: { port: 0 },
  subscriptions: { persistenceEnabled: false },
});
await node.start();

async function commission(code: string): Promise<JsonObject> {
  const { passcode, shortDiscriminator = 0 } = ManualPairingCodeCodec.decode(code);
  const peer = await node.peers.commission({ passcode, shortDiscriminator, timeout: Seconds(30) });
  return { peer: peer.id };
}

async function switchLight(peer: ClientNode, isOn: boolean): Promise<JsonObject> {
  const startMs = performance.now();
  const commands = peer.endpoints.for(LIGHT).commandsOf('onOff');
  await (isOn ? commands.on?.(undefined) : commands.off?.(undefined));
  const attribute = { endpointId: LIGHT, clusterId: OnOff.id, attributeId: OnOff.attributes.onOff.id };
  let on = false;
  for await (const chunk of peer.interaction.read(Read({ fabricFilter: true, attributes: [attribute] }))) {
    for await (const report of chunk) if (report.kind === 'attr-value') on = report.value === true;
  }
  return { ms: performance.now() - startMs, on };
}

async function answer(request: IncomingMessage): Promise<JsonObject> {
  const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (request.url === '/commission') return commission(body.code);
  const peer = node.peers.get(body.peer);
  if (!peer) throw new AtmoError('DEVICE_NOT_FOUND', `No peer ${body.peer}`);
  return switchLight(peer, body.on);
}

const server = createServer((request, response) => {
  answer(request).then(
    (body) => response.end(JSON.stringify(body)),
    (error: unknown) => response.writeHead(500).end(JSON.stringify({ error: String(error) })),
  );
}).listen(0, '127.0.0.1');
await once(server, 'listening');
console.log(`READY http://127.0.0.1:${(server.address() as AddressInfo).port}`);

process.once('SIGTERM', () => {
  // close() of matter.js 0.17 may never end.
  setTimeout(() => process.exit(), 2000);
  void node.close().finally(() => process.exit());
});
