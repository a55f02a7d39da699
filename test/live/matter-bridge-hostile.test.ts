import { type Bytes, Crypto, type Endpoint, Environment } from '@matter/main';
import { OperationalCredentials } from '@matter/main/clusters/operational-credentials';
import { type AttributeModel, ClusterModel } from '@matter/main/model';
import type { ClientNode } from '@matter/main/node';
import { Certificate, CertificateAuthority, Read, TlvCertSigningRequest, Write } from '@matter/main/protocol';
import { type AttributeId, type ClusterId, type EndpointNumber, FabricId, NodeId, Status, TlvOfModel, VendorId } from '@matter/main/types';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JsonObject, objectOf } from '../../src/core/json.ts';
import { homeOf, standardHome, together } from '../home/home-spec.ts';
import type { VirtualHome } from '../home/virtual-home.ts';
import { plausibleFields, plausibleValue } from '../matter/bridge/plausible-values.ts';
import { until } from '../matter/device-hub.ts';
import { BridgeLab, isOn } from './bridge-lab.ts';
import type { MeshHub } from './mesh/mesh-hub.ts';
import { SeenThing, statusOf, switched, thingsOf } from './seen-thing.ts';

const LAMP = 'Living room lamp';
const LOCK = 'Front door';
const OTHER_LAMP = 'Hall light';
const ECOSYSTEM = 'ecosystem-1';
/** An administrator of a node may remove any fabric, itself too, and end its own access (Matter core specification 11.18, 9.10). */
const ENDS_ITSELF: ReadonlySet<string> = new Set(['removeFabric', 'acl', 'updateNoc']);

const lab = new BridgeLab({
  discover: false,
  gpio: {
    backend: 'sim',
    outputs: {
      pump: { line: 'GPIO27', title: 'Pump' },
      heater: { line: 'GPIO17', title: 'Heater' },
      siren: { line: 'GPIO22', title: 'Siren', risk: 'dangerous' },
    },
  },
});
let home: VirtualHome;
let peer: ClientNode;

beforeAll(async () => {
  const started = await lab.start(together(homeOf(standardHome(), [LAMP, LOCK, OTHER_LAMP])));
  home = started.home;
  await lab.bridge('pump');
  await lab.bridge(LAMP);
  await lab.bridge(LOCK, { dangerous: true });
  peer = await lab.commission(started.controller);
  const { qr_code: code } = await lab.first.result('hub:open_bridge', {});
  await lab.second.result('hub:commission_device', { code: String(code), name: 'Bridge of the first' });
  await until(() => ['Pump', LAMP, LOCK].every((name) => seen(name).information.reachable === true), 30_000);
  // The owner has the bridge closed from now on.
  await lab.first.stop();
  await lab.first.start();
  await until(() => ['Pump', LAMP, LOCK].every((name) => seen(name).information.reachable === true), 60_000);
  await until(async () => (await statusOf(seen('Pump').invoke('onOff', 'off')).catch(() => '')) === 'Success', 60_000, 500);
}, 180_000);

afterAll(() => lab[Symbol.asyncDispose]());

const seen = (label: string) => new SeenThing(peer, label);

/** The root, the aggregator and all things, with their clusters. */
function clusters(): readonly {
  readonly endpoint: Endpoint;
  readonly name: string;
  readonly schema: ClusterModel;
  readonly state: JsonObject;
}[] {
  const all = new Map([peer as Endpoint, ...(peer.endpoints as Iterable<Endpoint>)].map((one) => [Number(one.maybeNumber ?? 0), one]));
  return [...all.values()].flatMap((endpoint) =>
    Object.entries(endpoint.behaviors.supported).flatMap(([name, { schema }]) =>
      schema instanceof ClusterModel ? [{ endpoint, name, schema, state: endpoint.stateOf(name) as JsonObject }] : [],
    ),
  );
}

const isListed = (list: unknown, id: number | undefined) => [...((list ?? []) as Iterable<number>)].includes(id ?? -1);

/** Sends each command that the bridge says it accepts. Returns how often each status was the answer. */
async function sendAllCommands(): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { endpoint, name, schema, state } of clusters()) {
    const accepted = [...schema.commands].filter(({ id, isRequest }) => isRequest && isListed(state.acceptedCommandList, id));
    for (const command of accepted) {
      if (ENDS_ITSELF.has(command.propertyName)) continue;
      const send = (endpoint.commandsOf(name) as unknown as Record<string, (fields?: object) => Promise<unknown>>)[command.propertyName];
      const fields = plausibleFields(command);
      answers.set(
        `${endpoint.maybeNumber ?? 0}/${name}.${command.propertyName}`,
        await statusOf(Promise.resolve(send?.(Object.keys(fields).length > 0 ? fields : undefined))).catch((error: unknown) =>
          String(error),
        ),
      );
    }
  }
  return answers;
}

/** Writes each attribute that the bridge says it has. Returns the status of each write. */
async function writeAllAttributes(): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { endpoint, name, schema, state } of clusters()) {
    const attributes = [...schema.attributes].filter(
      ({ id, propertyName }) => isListed(state.attributeList, id) && !ENDS_ITSELF.has(propertyName),
    );
    for (const attribute of attributes)
      answers.set(`${endpoint.maybeNumber ?? 0}/${name}.${attribute.propertyName}`, await written([endpoint, schema], attribute));
  }
  return answers;
}

/** Without the checks of the controller, which would not send what it knows to be refused. */
async function written([endpoint, cluster]: readonly [Endpoint, ClusterModel], attribute: AttributeModel): Promise<string> {
  const path = {
    endpointId: (endpoint.maybeNumber ?? 0) as EndpointNumber,
    clusterId: cluster.id as ClusterId,
    attributeId: attribute.id as AttributeId,
  };
  try {
    const data = TlvOfModel(attribute as never).encodeTlv(plausibleValue(attribute) as never);
    const answer = await peer.interaction.write(Write({ writes: [{ path, data }] } as never));
    const [first] = answer as unknown as readonly { readonly status: Status }[];
    return Status[first?.status ?? Status.Success] ?? '';
  } catch (error) {
    return String(error);
  }
}

/** Time after which the bridge takes a new fabric back that has not completed its commissioning (Matter core specification 11.10.7.2). */
const FAIL_SAFE_SECONDS = 15;

/** Sends a command to the root endpoint. */
function send(cluster: string, command: string, fields: object): Promise<unknown> {
  const commands = (peer as Endpoint).commandsOf(cluster) as unknown as Readonly<Record<string, (fields: object) => Promise<unknown>>>;
  return (commands[command] ?? expect.unreachable(command))(fields);
}

/** Installs a fabric of another authority, as an administrator may at any time (Matter core specification 11.18.6). */
async function addForeignFabric(): Promise<unknown> {
  const crypto = Environment.default.get(Crypto);
  const authority = await CertificateAuthority.create(crypto);
  await send('generalCommissioning', 'armFailSafe', { expiryLengthSeconds: FAIL_SAFE_SECONDS, breadcrumb: 0 });
  const { nocsrElements } = (await send('operationalCredentials', 'csrRequest', { csrNonce: crypto.randomBytes(32) })) as {
    readonly nocsrElements: Bytes;
  };
  const { certSigningRequest } = TlvCertSigningRequest.decode(nocsrElements);
  const key = await Certificate.getPublicKeyFromCsr(crypto, certSigningRequest);
  await send('operationalCredentials', 'addTrustedRootCertificate', { rootCaCertificate: authority.rootCert });
  return send('operationalCredentials', 'addNoc', {
    nocValue: await authority.generateNoc(key, FabricId(77n), NodeId(1n)),
    ipkValue: crypto.randomBytes(16),
    adminVendorId: VendorId(0xfff1),
    caseAdminSubject: NodeId(2n),
  });
}

/** Asks the bridge for its fabrics, also those of others. */
async function fabricIndexes(): Promise<readonly number[]> {
  const read = Read(
    { fabricFilter: false },
    Read.Attribute({ endpoint: 0 as EndpointNumber, cluster: OperationalCredentials, attributes: 'fabrics' }),
  );
  for await (const chunk of peer.interaction.read(read))
    for await (const report of chunk)
      if (report.kind === 'attr-value') return (report.value as { readonly fabricIndex: number }[]).map(({ fabricIndex }) => fabricIndex);
  return expect.unreachable('the bridge does not name its fabrics');
}

/** Returns what an agent called, as the journal of a hub has it: each tool with the device that the call names. */
async function callsOf(hub: MeshHub, agent: string): Promise<ReadonlySet<string>> {
  const { rows } = (await hub.result('hub:read_audit', { agent, limit: 1000 })) as { readonly rows: readonly JsonObject[] };
  const calls = rows
    .filter(({ kind }) => kind === 'intent')
    .map(({ tool, content }) => [tool, objectOf(objectOf(content).params).device_id]);
  return new Set(calls.map(([tool, device]) => [tool, device].join(' ').trim()));
}

/** Returns the attributes of things of which a write succeeded. */
function keptByThings(wrote: ReadonlyMap<string, string>): ReadonlySet<string> {
  const things = new Set(thingsOf(peer).map(({ number }) => String(number)));
  const kept = [...wrote].filter(([path, status]) => status === 'Success' && things.has(path.split('/')[0] ?? ''));
  return new Set(kept.map(([path]) => path.split('.')[1] ?? ''));
}

describe('a hostile ecosystem', () => {
  test('sees nothing that the owner did not choose', () => {
    expect(thingsOf(peer).length).toBe(3);
    const known = JSON.stringify(
      clusters().map(({ state }) => state),
      (_key, value) => (typeof value === 'bigint' ? String(value) : value),
    );
    expect(known).toContain(LAMP);
    for (const name of ['Heater', 'Siren', OTHER_LAMP]) expect(known).not.toContain(name);
  });

  test('reaches nothing else by any command or write, and opens no lock', async () => {
    const before = await home.device(OTHER_LAMP).commands();
    const sent = await sendAllCommands();
    const wrote = await writeAllAttributes();
    expect([...sent.values()].filter((status) => status in Status).length).toBeGreaterThan(60);
    expect([...wrote.values()].filter((status) => status in Status).length).toBeGreaterThan(200);
    expect(keptByThings(wrote)).toEqual(new Set(['identifyTime', 'nodeLabel', 'options']));
    expect(await home.device(LOCK).get('lock', 'DoorLock', 'LockState')).toBe(1);
    expect((await home.device(LOCK).commands()).filter(({ command }) => command.startsWith('unlock'))).toEqual([]);
    expect(await home.device(OTHER_LAMP).commands()).toEqual(before);
    expect(await isOn(lab.first, 'heater')).toBe(false);
    expect(await isOn(lab.first, 'siren')).toBe(false);
  });

  test('had only calls of its own, for what was chosen', async () => {
    const chosen = ['core:control_device@1.0.0 front-door', 'core:control_device@1.0.0 living-room-lamp'];
    const outputs = ['gpio:pump_turn_off@1.0.0', 'gpio:pump_turn_on@1.0.0'];
    expect([...(await callsOf(lab.first, ECOSYSTEM))].toSorted()).toEqual([...chosen, ...outputs]);
    expect([...(await callsOf(lab.second, `${ECOSYSTEM}@${lab.first.id}`))].toSorted()).toEqual(chosen);
  });

  test('lets nobody else in while the owner has the bridge closed', async () => {
    const window = {
      commissioningTimeout: 180,
      pakePasscodeVerifier: new Uint8Array(97),
      discriminator: 1,
      iterations: 1000,
      salt: new Uint8Array(16),
    };
    expect(await statusOf(send('administratorCommissioning', 'openCommissioningWindow', window) ?? Promise.resolve())).toBe(
      'UnsupportedCommand',
    );
    expect(await lab.first.result('hub:list_ecosystems')).toMatchObject({
      ecosystems: [{ ecosystem: ECOSYSTEM }, { ecosystem: 'ecosystem-2' }],
    });
  });

  test('brings a fabric of its own making, which is no ecosystem, gets no token, and is gone when its time is over', async () => {
    const tokens = async () => ((await lab.first.result('hub:list_tokens')) as { readonly tokens: readonly JsonObject[] }).tokens.length;
    const before = await tokens();
    expect(await addForeignFabric()).toMatchObject({ statusCode: 0, fabricIndex: 3 });
    expect(await fabricIndexes()).toEqual([1, 2, 3]);
    expect(await lab.first.result('hub:list_ecosystems')).toMatchObject({
      ecosystems: [{ ecosystem: ECOSYSTEM }, { ecosystem: 'ecosystem-2' }],
    });
    await until(async () => (await fabricIndexes()).join() === '1,2', 40_000, 500);
    expect(await tokens()).toBe(before);
  });

  test('leaves the other ecosystem as it was', async () => {
    expect((await lab.second.call('pump_turn_on')).status).toBe('success');
    expect(await isOn(lab.first, 'pump')).toBe(true);
  });

  test('cannot reach a thing that the owner has taken away', async () => {
    const pump = seen('Pump').number;
    await lab.first.result('hub:unbridge_device', { thing: 'pump' });
    expect(await switched(peer, pump, 'off')).toBe('UnsupportedEndpoint');
    expect(await isOn(lab.first, 'pump')).toBe(true);
  });
});
