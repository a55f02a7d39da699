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

/** Returns the icon as PNG. A maskable one fills its whole square, and has its signs in the middle. */
export function iconPng(size: number, { isMaskable = false }: { readonly isMaskable?: boolean } = {}): Buffer {
  const rows = Buffer.alloc(size * (1 + size * 4));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) drawPixel(rows.subarray(y * (1 + size * 4) + 1 + x * 4), { x, y, size, isMaskable });
  }
  return pngOf(size, rows);
}

interface Pixel {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly isMaskable: boolean;
}

/** Writes red, green, blue and alpha. Points that are not seen have no colour, or the edges would be dark. */
function drawPixel(bytes: Buffer, { x, y, size, isMaskable }: Pixel): void {
  const scale = isMaskable ? MASKABLE_SCALE : 1;
  let [red, green, blue, seen] = [0, 0, 0, 0];
  for (let sample = 0; sample < SAMPLES ** 2; sample++) {
    const atX = ((x + ((sample % SAMPLES) + 0.5) / SAMPLES) * CANVAS) / size;
    const atY = ((y + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES) * CANVAS) / size;
    if (!isMaskable && !isInSquare(atX, atY)) continue;
    const along = (atX + atY) / (2 * CANVAS);
    const white = whiteAt((atX - CANVAS / 2) / scale + CANVAS / 2, (atY - CANVAS / 2) / scale + CANVAS / 2);
    red += mixed(FROM[0] + (TO[0] - FROM[0]) * along, white);
    green += mixed(FROM[1] + (TO[1] - FROM[1]) * along, white);
    blue += mixed(FROM[2] + (TO[2] - FROM[2]) * along, white);
    seen += 1;
  }
  if (seen === 0) return;
  const share = 1 / seen;
  bytes[0] = red * share;
  bytes[1] = green * share;
  bytes[2] = blue * share;
  bytes[3] = (seen / SAMPLES ** 2) * 255;
}

function mixed(part: number, white: number): number {
  return part + (255 - part) * white;
}

/** Returns whether a point lies in the square with round corners. */
function isInSquare(x: number, y: number): boolean {
  return isWithin(x - nearestInside(x), y - nearestInside(y), CORNER);
}

function nearestInside(at: number): number {
  return Math.min(Math.max(at, CORNER), CANVAS - CORNER);
}

/** Returns how white the signs are at a point: 0 where there are none. */
function whiteAt(x: number, y: number): number {
  if (isWithin(x - SUN.x, y - SUN.y, SUN.radius)) return 1;
  let white = 0;
  for (const { radius, opacity } of ARCS) if (isOnArc(x, y, radius)) white = Math.max(white, opacity);
  return white;
}

/** Returns whether a point lies on the upper half of a circle with round ends. */
function isOnArc(x: number, y: number, radius: number): boolean {
  const [alongX, alongY] = [x - ARC_CENTRE.x, y - ARC_CENTRE.y];
  const isInRing = !isWithin(alongX, alongY, radius - ARC_WIDTH / 2) && isWithin(alongX, alongY, radius + ARC_WIDTH / 2);
  return (alongY <= 0 && isInRing) || isWithin(Math.abs(alongX) - radius, alongY, ARC_WIDTH / 2);
}

/** Compares squares: `Math.hypot` takes ten times as long, and there are ten million points. */
function isWithin(x: number, y: number, distance: number): boolean {
  return x * x + y * y <= distance * distance;
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
