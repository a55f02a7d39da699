import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readSecretFile, type SecretFile, writeSecretFile } from '../../src/auth/secret-file.ts';
import { CollectionStore } from '../../src/connectors/collections/collection-store.ts';
import { systemClock } from '../../src/core/clock.ts';
import { parseDeviceId, parseSensorId } from '../../src/core/devices/device-names.ts';
import { AtmoError } from '../../src/core/errors.ts';
import { acceptedTextsInStore, reportStaleFolder } from '../../src/core/files/owner-file.ts';
import { repairReporter } from '../../src/core/files/recoverable-file.ts';
import { HubProblems } from '../../src/core/health.ts';
import { ServiceStack } from '../../src/core/lifecycle.ts';
import { createLogger } from '../../src/core/logger.ts';
import { anchorInStore } from '../../src/core/storage/key-value-store.ts';
import { OwnCertificates, TlsFiles } from '../../src/http/tls/own-certificates.ts';
import { effectiveConfig } from '../../src/hub/config/config.ts';
import { type Infrastructure, openInfrastructure } from '../../src/hub/infrastructure.ts';
import { readClusterModels } from '../../src/matter/model/manufacturer-clusters.ts';
import { FabricStorage, NODE_FOLDER } from '../../src/matter/storage/fabric-storage.ts';
import { openMatterDatabase } from '../../src/matter/storage/matter-database.ts';
import { ProfileSchemaCheck, readOwnProfiles, readProfileSchemas } from '../../src/profiles/files/load-profiles.ts';
import { StateAnchors } from '../../src/storage/state-anchors.ts';
import { readRecordFile } from '../../src/tools/manifest/record-file.ts';

const HALL = parseSensorId('hall/temperature');
const ROOT_KEY = `atmo-root1.${Buffer.from('a sealed root key of a mesh').toString('base64url')}`;
const SENSOR = { id: HALL, device: parseDeviceId('hall'), name: 'temperature', kind: 'temperature', unit: '°C', title: 'Hall' };
const HOUR_MS = 3_600_000;
/** Spaces that nothing but `change` writes. */
const SPACES = ['agents', 'devices', 'data'] as const;
/** Files that people edit, each on one line: half of one is a mistake, and not another list. */
const EDITED = {
  'config.yaml': '{matter: {enabled: false}, clock: {trust: always}, tools: {disabled: [echo, hash, calculate]}}',
  'rules.yaml': '{rules: [{name: No locks for agents, effect: deny, when: {kind: agent, action: DoorLock/*}}]}',
  'tools.yaml': '{tools: [{name: one, source: "builtin:thermal"}, {name: two, source: "builtin:thermal"}]}',
  'tools_bootstrap.json': '{"tools": [{"name": "three"}, {"name": "four"}]}',
} as const;
/** Files in folders of the owner. */
const IN_FOLDERS = {
  'profiles/devices/gate.json': { title: 'Gate', noun: 'gate', match: { vendorId: 65_521, productId: 32_768 }, capabilities: ['on-off'] },
  'cluster-models/feeder.json': { name: 'Feeder', id: '0xFFF1FC00', attributes: [{ id: 0, name: 'Grams', type: 'uint16' }] },
} as const;
/** Made once: it takes longer than all else of a start. */
const profileCheck = new ProfileSchemaCheck(readProfileSchemas(join(import.meta.dirname, '../../device-profiles')));
/** What must never come back as it was before. */
const ENDED_SPACES = ['access.revocations', 'approvals', 'approvers', 'mesh.revoked'] as const;

/** What a hub would say of what it keeps: the same before and after a start unless something was lost. */
export interface Content {
  readonly identity: string;
  readonly trust: string;
  readonly state: string;
  readonly readings: string;
  readonly calls: string;
  readonly fabric: string;
  /** What counts of the files that people edit. */
  readonly edited: string;
  readonly documents: string;
}

/** Everything that a hub keeps, opened as a hub opens it, all but its sockets and devices. */
export class FullState implements AsyncDisposable {
  readonly problems: HubProblems;
  /** Events of the log at level warning and above. */
  readonly log: string[];
  readonly #dir: string;
  readonly #stack: ServiceStack;
  readonly #infrastructure: Infrastructure;
  readonly #tls: OwnCertificates;
  readonly #rootKey: SecretFile;
  readonly #matter: FabricStorage;
  readonly #storage: ReturnType<typeof openMatterDatabase>;
  readonly #edited: string;
  readonly #documents: CollectionStore;

  private constructor(parts: {
    dir: string;
    stack: ServiceStack;
    infrastructure: Infrastructure;
    problems: HubProblems;
    log: string[];
    tls: OwnCertificates;
    rootKey: SecretFile;
    matter: FabricStorage;
    storage: ReturnType<typeof openMatterDatabase>;
    edited: string;
    documents: CollectionStore;
  }) {
    this.#documents = parts.documents;
    this.#edited = parts.edited;
    this.#dir = parts.dir;
    this.#stack = parts.stack;
    this.#infrastructure = parts.infrastructure;
    this.problems = parts.problems;
    this.log = parts.log;
    this.#tls = parts.tls;
    this.#rootKey = parts.rootKey;
    this.#matter = parts.matter;
    this.#storage = parts.storage;
  }

  static async open(dir: string): Promise<FullState> {
    const stack = new ServiceStack();
    const problems = new HubProblems();
    const log: string[] = [];
    const logger = createLogger('warn', (line) => void log.push(line));
    try {
      const settings = effectiveConfig({}, dir);
      const { config } = settings;
      const infrastructure = await openInfrastructure({ clock: systemClock, logger, problems, mesh: () => undefined }, config, stack);
      const takenOf = acceptedTextsInStore(infrastructure.store, dir);
      const lists = [config.tools.manifestFile, ...config.tools.bootstrapFiles.slice(0, 1)].map((path) =>
        readRecordFile(path, { takenOf }),
      );
      if ('fault' in settings) problems.raise('settings', String(settings.fault));
      else settings.keep();
      for (const { stale } of lists) if (stale) problems.raise(stale.place, stale.problem);
      const names = lists.map(({ records }) => records.map(({ body }) => body.name));
      infrastructure.readings.describe(HALL, SENSOR);
      const rules = infrastructure.auth.rules.list().rules.map(({ name }) => name);
      const folders = [
        { path: config.profilesDir, ...readOwnProfiles({ path: config.profilesDir, takenOf }, () => profileCheck) },
        { path: config.matter.clusterModelsDir, ...readClusterModels(config.matter.clusterModelsDir, takenOf) },
      ];
      for (const folder of folders) {
        folder.keep();
        reportStaleFolder({ logger, problems }, folder);
      }
      const inFolders = folders.map(({ contents }) => contents.map((one) => ('content' in one ? one.content : one.toString())));
      const edited = JSON.stringify([config.tools.disabled, rules, ...names, ...inFolders]);
      const onLoss = (fault: string) => problems.raise('rag.db', fault);
      const documents = new CollectionStore(join(dir, 'rag.db'), {
        maxParts: 100,
        anchor: anchorInStore(infrastructure.store, 'rag.db'),
        onLoss,
      });
      documents.check();
      stack.own({ [Symbol.asyncDispose]: async () => documents[Symbol.dispose]() });
      const onRepaired = repairReporter({ logger, problems });
      const tls = new OwnCertificates(new TlsFiles(join(dir, 'tls'), onRepaired), { all: () => ['hub.local'], configured: [] });
      const rootKey = {
        path: join(dir, 'mesh-root.key'),
        ifOthersReadIt: 'make a new mesh',
        isWhole: (text: string) => text.startsWith('atmo-root1.'),
        onRepaired,
      };
      const anchor = new StateAnchors(dir, logger).of('matter/hub/storage.db');
      const matter = new FabricStorage({ logger, problems, anchor }, join(dir, 'matter'));
      matter.prepare();
      const storage = openMatterDatabase(join(dir, 'matter', NODE_FOLDER, 'storage.db'), anchor);
      makeFabric(storage);
      matter.confirmFabric();
      return new FullState({ dir, stack, infrastructure, problems, log, tls, rootKey, matter, storage, edited, documents });
    } catch (error) {
      await stack[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What people write, before the first start. */
  static prepare(dir: string): void {
    for (const [name, text] of Object.entries(EDITED)) writeFileSync(join(dir, name), `${text}\n`, { mode: 0o600 });
    for (const [name, content] of Object.entries(IN_FOLDERS)) {
      mkdirSync(dirname(join(dir, name)), { recursive: true, mode: 0o700 });
      writeFileSync(join(dir, name), JSON.stringify(content));
    }
  }

  /** Once. */
  begin(): void {
    writeSecretFile(this.#rootKey, `${ROOT_KEY}\n`);
  }

  /** A little of everything that a hub keeps. */
  async change(round: number): Promise<void> {
    const { store, readings, auth } = this.#infrastructure;
    for (const space of SPACES) {
      store.set(space, `new-${round}`, { round, text: `entry ${round} `.repeat(20) });
      store.set(space, 'same', { round });
      if (round > 1) store.delete(space, `new-${round - 1}`);
    }
    auth.revocations.revoke(String(round).padStart(32, '0'), systemClock.now() + HOUR_MS);
    store.set('approvals', 'asked', { state: round % 2 === 0 ? 'open' : 'used', round }, { ttlMs: HOUR_MS });
    store.set('mesh.revoked', `hub-${round}`, 'statement');
    readings.record(HALL, 20 + round, systemClock.now() - HOUR_MS + round * 1_000);
    readings.flush();
    const atMs = systemClock.now();
    for (let n = 0; n < 5; n++) await auth.audit.record({ kind: 'note', event: 'round', atMs, data: { round, n } });
    const parts = [{ text: `part ${round}`, vector: Float32Array.of(1, 0) }];
    this.#documents.put('home', { model: 'm', width: 2 }, [{ id: `document-${round}`, metadata: {}, parts }]);
    this.#put(`nodes.peer${round}`, 'cache', 'x'.repeat(300));
    this.#put('nodes', 'round', String(round));
  }

  /** Copies of everything, as a hub makes them by and by. */
  async snapshot(): Promise<void> {
    const { store, readings, auth } = this.#infrastructure;
    for (const part of [store, readings, auth.audit]) await part.snapshot();
    this.#matter.snapshot();
  }

  async content(): Promise<Content> {
    const { store, readings, auth } = this.#infrastructure;
    const entriesOf = (spaces: readonly string[]) => JSON.stringify(spaces.map((space) => store.entries(space)));
    const range = { sensor: HALL, startMs: 0, endMs: systemClock.now(), aggregation: 'none' } as const;
    const { intact, problem } = await auth.audit.verify();
    const calls = auth.audit.read({ limit: 1_000 }).filter(({ content }) => content.event === 'round');
    const tls = this.#tls.current(systemClock.now());
    const fabric = this.#storage.prepare('SELECT context, key, value_json FROM kvstore ORDER BY context, key').all();
    const approver = existsSync(join(this.#dir, 'owner.key')) ? readFileSync(join(this.#dir, 'owner.key'), 'utf8') : '';
    const owner = readFileSync(join(this.#dir, 'owner.token'), 'utf8').trim();
    return {
      identity: JSON.stringify([auth.key.hubId, auth.credential.matches(owner), owner, approver, tls.chain, readSecretFile(this.#rootKey)]),
      trust: entriesOf(ENDED_SPACES),
      state: entriesOf(SPACES),
      readings: JSON.stringify(readings.history(range)),
      calls: JSON.stringify([intact, problem?.reason, calls.map(({ hash }) => hash)]),
      fabric: JSON.stringify(fabric),
      edited: this.#edited,
      documents: this.#documentTexts(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#storage.close();
    await this.#stack[Symbol.asyncDispose]();
  }

  /** What cannot be read was told when it was opened. */
  #documentTexts(): string {
    try {
      return JSON.stringify(this.#documents.vectors('home', 0, 100).map(({ part }) => this.#documents.part(part)));
    } catch (error) {
      if (error instanceof AtmoError) return '[]';
      throw error;
    }
  }

  #put(context: string, key: string, value: string): void {
    putIn(this.#storage, [context, key, JSON.stringify(value)]);
  }
}

function putIn(storage: ReturnType<typeof openMatterDatabase>, [context, key, json]: readonly [string, string, string]): void {
  storage
    .prepare<never>("INSERT OR REPLACE INTO kvstore (context, key, value_type, value_json) VALUES ($context, $key, 'json', $json)")
    .run({ context, key, json } as never);
}

/** What tells one fabric from another, where matter.js keeps it. */
function makeFabric(storage: ReturnType<typeof openMatterDatabase>): void {
  if (storage.prepare("SELECT 1 FROM kvstore WHERE key = 'fabrics'").get() !== undefined) return;
  const boxed = JSON.stringify({ __object__: 'BigInt', __value__: '77' });
  putIn(storage, ['certificates', 'rootCertBytes', '"certificate"']);
  putIn(storage, ['certificates', 'rootKeyPair', '"key pair"']);
  putIn(storage, ['fabrics', 'fabrics', JSON.stringify([{ fabricId: boxed }])]);
}
