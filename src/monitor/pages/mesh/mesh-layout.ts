/** A hub as far as its place in the picture goes. */
export interface PlacedHub {
  readonly id: string;
  /** Over how many hubs it is reached; 1 is next to this one. */
  readonly hops: number;
}

/** Where something stands in the picture. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

const RING_STEP = 130;
const MARGIN = 90;
/** Farther ones share the last ring: a picture has an end. */
const MAX_RING = 3;

/** The picture: this hub in the middle, the others on rings by their hops, always at the same angles for the same ids. */
export interface MeshPicture {
  readonly width: number;
  readonly height: number;
  readonly centre: Point;
  readonly places: ReadonlyMap<string, Point>;
}

/** Places hubs so that nobody covers another until a ring is full; order by id keeps the picture still while news come in. */
export function layOutMesh(hubs: readonly PlacedHub[]): MeshPicture {
  const rings = Map.groupBy(hubs, ({ hops }) => Math.min(Math.max(1, hops), MAX_RING));
  const outermost = Math.max(0, ...rings.keys());
  const radius = outermost * RING_STEP;
  const centre = { x: radius + MARGIN, y: radius + MARGIN };
  const places = new Map<string, Point>();
  for (const [ring, members] of rings) {
    const sorted = members.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    for (const [index, { id }] of sorted.entries()) places.set(id, onRing(centre, ring, index / sorted.length));
  }
  return { width: 2 * centre.x, height: 2 * centre.y, centre, places };
}

/** `turn` is 0 to 1 from the top, clockwise; each ring begins a little later so that links do not hide one another. */
function onRing({ x, y }: Point, ring: number, turn: number): Point {
  const angle = 2 * Math.PI * turn - Math.PI / 2 + (ring - 1) * 0.4;
  return { x: Math.round(x + Math.cos(angle) * ring * RING_STEP), y: Math.round(y + Math.sin(angle) * ring * RING_STEP) };
}
