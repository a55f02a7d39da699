import { setTimeout as sleep } from 'node:timers/promises';
import { AtmoError } from '../../src/core/errors.ts';
import { findDebianTool } from './debian-tool.ts';
import { inNamespace, runIp, runTool } from './run-tool.ts';

/** Namespace that holds the bridges and nothing else (scripts/in-netns). */
export const SWITCH = 'lan';
/** Pause between two looks at a card that was just plugged in, and how many there are. */
const [LOOK_MS, MOST_LOOKS] = [10, 1000];

/** One network card of a host. */
interface Card {
  readonly lan: number;
  /** Number of the address in its network: 10.77+lan.H.L and fd00:77+lan::number. */
  number: number;
}

/** Bytes that a card received and sent, with Ethernet headers. */
export interface Traffic {
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** A machine of the lab: a network namespace with a card in one or more networks. Works only inside scripts/in-netns. */
export class LabHost implements AsyncDisposable {
  /** Name of its network namespace. */
  readonly name: string;
  readonly #cards: Card[];

  /** `number` is 1 to 65534 and unique in each network; `lans` are the networks its cards eth0, eth1… are in. */
  constructor(name: string, number: number, lans: readonly number[] = [0]) {
    this.name = name;
    this.#cards = lans.map((lan) => ({ lan, number }));
  }

  async start(): Promise<void> {
    await runTool('ip', ['netns', 'add', this.name]);
    await this.ip('link set lo up');
    for (const index of this.#cards.keys()) await this.#plugIn(index);
  }

  /** IPv4 address of a card. */
  address(card = 0): string {
    const { lan, number } = this.#card(card);
    return `10.${77 + lan}.${number >> 8}.${number & 255}`;
  }

  /** IPv6 address of a card in its network's prefix, without zone. */
  address6(card = 0): string {
    const { lan, number } = this.#card(card);
    return `fd00:${77 + lan}::${number.toString(16)}`;
  }

  /** Numbers of the networks that its cards are in. */
  get lans(): readonly number[] {
    return this.#cards.map((card) => card.lan);
  }

  /** Program and arguments that run `command` on this host. */
  command(command: readonly string[]): readonly [string, ...string[]] {
    return inNamespace(this.name, command);
  }

  /** Adds a card in a network while everything runs; answers its index. */
  async addCard(lan: number): Promise<number> {
    const index = this.#cards.push({ lan, number: this.#card(0).number }) - 1;
    await this.#plugIn(index);
    return index;
  }

  /** Takes the card out, as a USB adapter. */
  async removeCard(index: number): Promise<void> {
    await this.ip(`link del eth${index}`);
    this.#cards.splice(index, 1);
  }

  /** The cable is out: both ends see that there is no link. */
  async linkDown(card = 0): Promise<void> {
    await runTool('ip', ['-n', SWITCH, 'link', 'set', this.#port(card), 'down']);
  }

  async linkUp(card = 0): Promise<void> {
    await runTool('ip', ['-n', SWITCH, 'link', 'set', this.#port(card), 'up']);
    await this.#untilUp(`eth${card}`);
  }

  /** Packets from and to the host vanish; it does not notice. */
  async unplug(card = 0): Promise<void> {
    await runTool('ip', ['-n', SWITCH, 'link', 'set', this.#port(card), 'nomaster']);
  }

  /** Back into its network, or into the one behind another bridge of it. */
  async plug(card = 0, bridge = `br${this.#card(card).lan}`): Promise<void> {
    await runTool('ip', ['-n', SWITCH, 'link', 'set', this.#port(card), 'master', bridge]);
  }

  /** Moves a card to another address; what was connected from the old one is stranded. */
  async changeAddress(number: number, card = 0): Promise<void> {
    const [old, old6] = [this.address(card), this.address6(card)];
    this.#card(card).number = number;
    const device = `dev eth${card}`;
    // The old one first: the kernel drops whatever else is of the same network with it, and routes with the last.
    await this.ip(`addr del ${old}/16 ${device}`, `addr del ${old6}/64 ${device}`);
    await this.ip(
      `addr add ${this.address(card)}/16 brd + ${device}`,
      `addr add ${this.address6(card)}/64 ${device} nodad`,
      `route replace 224.0.0.0/4 ${device} metric ${card + 1}`,
    );
  }

  /** Every packet that comes in is lost with this probability (0 to 100); 0 ends it. Needs nftables. */
  async loseIncoming(percent: number, card = 0): Promise<void> {
    const drop = percent === 0 ? '' : `numgen random mod 1000 < ${Math.round(percent * 10)} counter drop`;
    await this.#nft(`table netdev lab_loss
delete table netdev lab_loss
table netdev lab_loss {
  chain in {
    type filter hook ingress device "eth${card}" priority 0; policy accept;
    ${drop}
  }
}`);
  }

  /** Every packet that goes out waits so long first. Needs a kernel with netem. */
  async delayOutgoing(delayMs: number, card = 0): Promise<void> {
    const [command, ...args] = this.command(['tc', 'qdisc', 'replace', 'dev', `eth${card}`, 'root', 'netem', 'delay', `${delayMs}ms`]);
    await runTool(command, args);
  }

  /** Passes packets on between its networks; with `masquerade`, as a router at home does: nobody outside reaches in. Needs nftables then. */
  async route(masquerade?: { readonly outsideCard: number }): Promise<void> {
    const [command, ...args] = this.command(['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
    await runTool(command, args);
    if (!masquerade) return;
    const outside = `eth${masquerade.outsideCard}`;
    await this.#nft(`table ip lab_nat {
  chain out {
    type nat hook postrouting priority 100;
    oifname "${outside}" masquerade
  }
  chain through {
    type filter hook forward priority 0; policy accept;
    iifname "${outside}" ct state new drop
  }
}`);
  }

  /** Sends what is for other networks to a router. */
  async defaultRoute(router: string): Promise<void> {
    await this.ip(`route replace default via ${router}`);
  }

  /** What its card has counted since it was plugged in. */
  async traffic(card = 0): Promise<Traffic> {
    const [link] = JSON.parse(await runTool('ip', ['-n', this.name, '-s', '-j', 'link', 'show', `eth${card}`]));
    return { receivedBytes: link.stats64.rx.bytes, sentBytes: link.stats64.tx.bytes };
  }

  /** Runs lines of ip(8) on this host. Options, such as `-4`, are possible where there is one line. */
  async ip(...lines: readonly [string, ...string[]]): Promise<void> {
    if (lines.length > 1) await runIp(this.name, lines);
    else await runTool('ip', ['-n', this.name, ...lines[0].split(' ')]);
  }

  /** The host is gone: its cards with it, and its name. What still runs there has no network any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const card of this.#cards.keys()) await runTool('ip', ['-n', SWITCH, 'link', 'del', this.#port(card)]).catch(() => undefined);
    await runTool('ip', ['netns', 'del', this.name]);
  }

  async #plugIn(index: number): Promise<void> {
    const { lan, number } = this.#card(index);
    const hex = number.toString(16);
    const device = `eth${index}`;
    const port = this.#port(index);
    await runIp(SWITCH, [`link add ${port} type veth peer name ${device} netns ${this.name}`, `link set ${port} master br${lan} up`]);
    // Own link-local address instead of the kernel's: with `nodad` it is usable at once and needs no sysctl.
    await this.ip(
      `link set ${device} addrgenmode none`,
      `link set ${device} address ${macAddress(lan, number)}`,
      `link set ${device} up`,
      `addr add ${this.address(index)}/16 brd + dev ${device}`,
      `addr add ${this.address6(index)}/64 dev ${device} nodad`,
      `addr add fe80::${77 + lan}:${hex}/64 dev ${device} nodad`,
      `route add 224.0.0.0/4 dev ${device} metric ${index + 1}`,
    );
    await this.#untilUp(device);
  }

  /** Waits until the kernel has noticed the cable, since it drops what is sent before. */
  async #untilUp(device: string): Promise<void> {
    for (let look = 0; look < MOST_LOOKS; look++) {
      const [link] = JSON.parse(await runTool('ip', ['-n', this.name, '-j', 'link', 'show', device]));
      if (link.operstate === 'UP') return;
      await sleep(LOOK_MS);
    }
    throw new AtmoError('INTERNAL_ERROR', `Card ${device} of host ${this.name} has no link`);
  }

  /** The switch's end of a card's cable; names of interfaces have at most 15 characters. */
  #port(card: number): string {
    return `v${card}-${this.name}`;
  }

  #card(index: number): Card {
    const card = this.#cards[index];
    if (!card) throw new AtmoError('INTERNAL_ERROR', `Host ${this.name} has no card ${index}, only ${this.#cards.length}`);
    return card;
  }

  async #nft(rules: string): Promise<void> {
    const nft = findDebianTool('nft');
    if (!nft) throw new AtmoError('INTERNAL_ERROR', 'nft is missing: run scripts/netlab tools where apt works, or install nftables');
    const [command, ...args] = this.command([nft.path, rules]);
    await runTool(command, args, nft.env);
  }
}

/** A locally administered one that says which host and network it is. */
function macAddress(lan: number, number: number): string {
  const parts = [2, 0, 0, 77 + lan, number >> 8, number & 255];
  return parts.map((part) => part.toString(16).padStart(2, '0')).join(':');
}
