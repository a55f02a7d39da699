import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { runTool } from '../../../scripts/network-lab/run-tool.ts';
import { readApproverKey } from '../../../src/cli/identity/approver-key.ts';
import type { JsonObject } from '../../../src/core/json.ts';
import { type DeviceSpec, homeOf, standardHome, together } from '../../home/home-spec.ts';
import type { VirtualDevice } from '../../home/virtual-device.ts';
import { VirtualHome } from '../../home/virtual-home.ts';
import { RunningHub } from '../running-hub.ts';
import { filmOf } from './camera-frame.ts';
import { startChromium } from './chromium.ts';
import type { Look } from './look.ts';
import { OpenPage, type PageLogin } from './open-page.ts';

const BUILD_PAGE = join(import.meta.dirname, '../../../scripts/build-page.ts');
const PORT = '18090';
/** What the camera of the browser sees. */
const FILM = 'camera.y4m';
const OWNER = 'owner';

interface PageWorldOptions {
  /** Names from the standard home that are commissioned at the start. */
  readonly devices: readonly string[];
  /** More of them, which wait for somebody to add them. */
  readonly waiting?: readonly string[];
  readonly extra?: readonly DeviceSpec[];
  /** Settings of the hub. */
  readonly config?: JsonObject;
  /** The program of the hub, if it is not the built one. */
  readonly program?: string;
  /** Names that the browser knows, with their addresses. */
  readonly names?: Readonly<Record<string, string>>;
}

/** A home with real devices, a hub in a process of its own, and a browser: all in one private network. */
export class PageWorld implements AsyncDisposable {
  readonly home: VirtualHome;
  readonly browser: Browser;
  readonly stateDir: string;
  readonly #dir: string;
  readonly #program: string | undefined;
  #hub: RunningHub;

  private constructor(parts: { home: VirtualHome; hub: RunningHub; browser: Browser; dir: string; program: string | undefined }) {
    this.home = parts.home;
    this.browser = parts.browser;
    this.#hub = parts.hub;
    this.#dir = parts.dir;
    this.#program = parts.program;
    this.stateDir = join(parts.dir, 'hub');
  }

  static async start(options: PageWorldOptions): Promise<PageWorld> {
    const dir = mkdtempSync(join(tmpdir(), 'page-'));
    const spec = homeOf(standardHome(), [...options.devices, ...(options.waiting ?? [])]);
    const devices = together({ devices: [...spec.devices, ...(options.extra ?? [])] });
    await runTool(process.execPath, [BUILD_PAGE, '--if-stale']);
    const [home, hub, browser] = await Promise.all([
      VirtualHome.start({ spec: devices, dir: join(dir, 'home') }),
      startHub(join(dir, 'hub'), { config: options.config, program: options.program }),
      startChromium({ cameraFile: join(dir, FILM), ...(options.names && { names: options.names }) }),
    ]);
    const world = new PageWorld({ home, hub, browser, dir, program: options.program });
    const commissioned = [...options.devices, ...(options.extra ?? []).map(({ name }) => name)];
    for (const name of commissioned) await world.commission(name);
    return world;
  }

  get hub(): RunningHub {
    return this.#hub;
  }

  device(name: string): VirtualDevice {
    return this.home.device(name);
  }

  /** Brings a waiting device of the home into the hub, without the page. */
  async commission(name: string): Promise<void> {
    const { spec, pairing } = this.home.device(name);
    await this.#hub.result('hub:commission_device', { code: pairing.qrCode, name, area: spec.area, attestation: 'off' });
  }

  /** What the link of this hub's owner, or of the owner of another hub here, carries: the token, and the key with which approvals are signed. */
  ownerLogin(stateDir = this.stateDir): PageLogin {
    const { d: key = '' } = readApproverKey(join(stateDir, 'owner.key')).export({ format: 'jwk' });
    return { token: readFileSync(join(stateDir, 'owner.token'), 'utf8').trim(), person: OWNER, key };
  }

  /** Holds a QR code into the camera; until then the browser has none that works. */
  holdIntoCamera(text: string): void {
    writeFileSync(join(this.#dir, FILM), filmOf(text));
  }

  /** The page as the owner sees it, or as whoever signs in. */
  open(look: Look = 'light', login: PageLogin = this.ownerLogin(), locale = 'en-GB'): Promise<OpenPage> {
    return OpenPage.open(this.browser, { url: this.#hub.url, look, login, locale });
  }

  /** The page before anybody has signed in. */
  openSignedOut(look: Look = 'light', locale = 'en-GB'): Promise<OpenPage> {
    return OpenPage.open(this.browser, { url: this.#hub.url, look, locale });
  }

  /** As a power cut of the hub; `reviveHub` brings it back at the same address. */
  async killHub(): Promise<void> {
    await this.#hub.kill();
  }

  async reviveHub(): Promise<void> {
    this.#hub = await startHub(this.stateDir, { program: this.#program });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.#hub.stop();
    await this.home[Symbol.asyncDispose]();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

interface HubParts {
  readonly config?: JsonObject | undefined;
  readonly program: string | undefined;
}

function startHub(stateDir: string, { config, program }: HubParts): Promise<RunningHub> {
  return RunningHub.start({
    stateDir,
    ...(config && { config }),
    ...(program !== undefined && { program }),
    env: { ATMO_HTTP_PORT: PORT },
  });
}
