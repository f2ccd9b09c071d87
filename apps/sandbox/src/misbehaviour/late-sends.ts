/**
 * Sends that are held back: their connection broke, and they land later (knob land_late). By participant and
 * request_id.
 */
export class LateSends {
  private readonly held = new Map<string, number>();

  hold(name: string): void {
    this.held.set(name, (this.held.get(name) ?? 0) + 1);
  }

  landed(name: string): void {
    const left = (this.held.get(name) ?? 0) - 1;
    if (left > 0) this.held.set(name, left);
    else this.held.delete(name);
  }

  /** Whether a send of this name is under way. The name is read only where any is: it lies in a long body. */
  isHeld(name: () => string): boolean {
    return this.held.size > 0 && this.held.has(name());
  }
}
