import { crc32, deflateSync } from 'node:zlib';

/** The shapes of src/web/icon.svg, on its canvas of 64 by 64. Home screens of phones take pictures of pixels alone. */
const CANVAS = 64;
const CORNER = 17;
const [FROM, TO] = [
  [0xf2, 0xa6, 0x5a],
  [0xc2, 0x55, 0x3a],
] as const;
const ARCS = [
  { radius: 18, opacity: 0.55 },
  { radius: 9.5, opacity: 1 },
] as const;
const ARC_CENTRE = { x: 32, y: 45 };
const ARC_WIDTH = 5;
const SUN = { x: 32, y: 19, radius: 5 };
/** A platform may cut a maskable icon to a circle of 80 % of its width (W3C Web Application Manifest, "Icon masks and safe zone"). */
const MASKABLE_SCALE = 0.72;
/** Each pixel is the mean of so many by so many points, which makes smooth edges. */
const SAMPLES = 4;

type Colour = readonly [red: number, green: number, blue: number, alpha: number];

/** Returns the icon as PNG. A maskable one fills its whole square, and has its signs in the middle. */
export function iconPng(size: number, { isMaskable = false }: { readonly isMaskable?: boolean } = {}): Buffer {
  const rows = Buffer.alloc(size * (1 + size * 4));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) rows.set(pixelAt(x, y, { size, isMaskable }), y * (1 + size * 4) + 1 + x * 4);
  }
  return pngOf(size, rows);
}

function pixelAt(x: number, y: number, { size, isMaskable }: { readonly size: number; readonly isMaskable: boolean }): Colour {
  const sum = [0, 0, 0, 0];
  for (let sample = 0; sample < SAMPLES ** 2; sample++) {
    const [dx, dy] = [(sample % SAMPLES) + 0.5, Math.floor(sample / SAMPLES) + 0.5];
    const [red, green, blue, alpha] = colourAt(((x + dx / SAMPLES) * CANVAS) / size, ((y + dy / SAMPLES) * CANVAS) / size, isMaskable);
    // Colours count by how much of them is seen, or the edges would be dark.
    for (const [index, value] of [red * alpha, green * alpha, blue * alpha, alpha].entries()) sum[index] = (sum[index] ?? 0) + value;
  }
  const [red = 0, green = 0, blue = 0, alpha = 0] = sum;
  const share = alpha === 0 ? 0 : 1 / alpha;
  return [red * share, green * share, blue * share, (alpha / SAMPLES ** 2) * 255];
}

function colourAt(x: number, y: number, isMaskable: boolean): Colour {
  if (!isMaskable && !isInSquare(x, y)) return [0, 0, 0, 0];
  const along = (x + y) / (2 * CANVAS);
  const [red, green, blue] = FROM.map((from, index) => from + ((TO[index] ?? 0) - from) * along);
  const scale = isMaskable ? MASKABLE_SCALE : 1;
  const white = whiteAt((x - CANVAS / 2) / scale + CANVAS / 2, (y - CANVAS / 2) / scale + CANVAS / 2);
  const mixed = [red, green, blue].map((part = 0) => part + (255 - part) * white);
  return [mixed[0] ?? 0, mixed[1] ?? 0, mixed[2] ?? 0, 1];
}

/** Returns whether a point lies in the square with round corners. */
function isInSquare(x: number, y: number): boolean {
  const nearest = (at: number): number => Math.min(Math.max(at, CORNER), CANVAS - CORNER);
  return Math.hypot(x - nearest(x), y - nearest(y)) <= CORNER;
}

/** Returns how white the signs are at a point: 0 where there are none. */
function whiteAt(x: number, y: number): number {
  if (Math.hypot(x - SUN.x, y - SUN.y) <= SUN.radius) return 1;
  return Math.max(0, ...ARCS.map(({ radius, opacity }) => (isOnArc(x, y, radius) ? opacity : 0)));
}

/** Returns whether a point lies on the upper half of a circle with round ends. */
function isOnArc(x: number, y: number, radius: number): boolean {
  const { x: cx, y: cy } = ARC_CENTRE;
  const isUpper = y <= cy && Math.abs(Math.hypot(x - cx, y - cy) - radius) <= ARC_WIDTH / 2;
  return isUpper || Math.hypot(Math.abs(x - cx) - radius, y - cy) <= ARC_WIDTH / 2;
}

/** Returns a PNG of 8 bits a channel with alpha (PNG third edition, 11.2). Each row begins with its filter, here none. */
function pngOf(size: number, rows: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 6, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
