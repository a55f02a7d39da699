/**
 * Answers the WebSocket commands of a Matter server that the comparison uses, without any device behind it. Arguments: port, folder for its
 * state, milliseconds that a command takes, file to which a line is added for each command and each read. After a restart it still has the
 * lights that it commissioned before. After each start it refuses the first command to a light.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';

type Arguments = Record<string, unknown>;

const [port = '', dir = '', commandMs = '0', log = ''] = process.argv.slice(2);
const stateFile = join(dir, 'lights.json');
const lights: Record<number, boolean> = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, 'utf8')) : {};
let isReady = false;

const commands: Record<string, (args: Arguments) => unknown> = {
  commission_with_code: ({ code, network_only: isNetworkOnly }) => {
    if (!/^\d{11}$/.test(String(code)) || isNetworkOnly !== true) throw new Error(`no device with ${code} on the network`);
    const node = Object.keys(lights).length + 1;
    lights[node] = false;
    writeFileSync(stateFile, JSON.stringify(lights));
    return { node_id: node, available: true };
  },
  device_command: ({ node_id: node, endpoint_id: endpoint, cluster_id: cluster, command_name: name, payload }) => {
    if (endpoint !== 1 || cluster !== 6 || typeof payload !== 'object') throw new Error('no such command');
    if (!isReady) {
      isReady = true;
      throw new Error('the node is not available yet');
    }
    lights[lightOf(node)] = name === 'on';
    appendFileSync(log, `${name}\n`);
    return null;
  },
  read_attribute: ({ node_id: node, attribute_path: path }) => {
    if (path !== '1/6/0') throw new Error(`no attribute ${path}`);
    appendFileSync(log, 'read\n');
    return { [path]: lights[lightOf(node)] };
  },
};

function lightOf(node: unknown): number {
  if (typeof node !== 'number' || lights[node] === undefined) throw new Error(`no node ${node}`);
  return node;
}

async function answer(socket: WebSocket, text: string): Promise<void> {
  const { message_id: id, command, args } = JSON.parse(text);
  await sleep(Number(commandMs));
  try {
    socket.send(JSON.stringify({ message_id: id, result: commands[command]?.(args) }));
  } catch (error) {
    socket.send(JSON.stringify({ message_id: id, error_code: 0, details: String(error) }));
  }
}

new WebSocketServer({ host: '127.0.0.1', port: Number(port), path: '/ws' }).on('connection', (socket) => {
  socket.send(JSON.stringify({ fabric_id: 1, schema_version: 13, min_supported_schema_version: 11 }));
  // Something that nobody asked for.
  socket.send(JSON.stringify({ event: 'attribute_updated', data: [1, '1/6/0', true] }));
  socket.on('message', (data) => void answer(socket, String(data)));
});
