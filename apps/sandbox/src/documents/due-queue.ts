/** Work that falls due on the virtual clock. */
export interface DueWork {
  dueVirtualMs: number;
  seq: number;
}

const before = (a: DueWork, b: DueWork): boolean =>
  a.dueVirtualMs < b.dueVirtualMs || (a.dueVirtualMs === b.dueVirtualMs && a.seq < b.seq);

/**
 * A binary heap by due time, then by acceptance: the same documents come out in the same order whenever they are asked
 * for.
 */
export class DueQueue<Work extends DueWork> {
  private readonly heap: Work[] = [];

  get size(): number {
    return this.heap.length;
  }

  peek(): Work | undefined {
    return this.heap[0];
  }

  push(work: Work): void {
    const { heap } = this;
    heap.push(work);
    let at = heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(work, heap[parent] as Work)) break;
      heap[at] = heap[parent] as Work;
      at = parent;
    }
    heap[at] = work;
  }

  pop(): Work | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (heap.length > 0 && last !== undefined) this.sink(last);
    return first;
  }

  private sink(work: Work): void {
    const { heap } = this;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Work, heap[child] as Work)) child += 1;
      if (!before(heap[child] as Work, work)) break;
      heap[at] = heap[child] as Work;
      at = child;
    }
    heap[at] = work;
  }
}
