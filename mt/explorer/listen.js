"use strict";
// What a microphone hears, in parts of int16 samples. A worklet is a script of its own, which the server gives.

class Listening extends AudioWorkletProcessor {
  part = new Int16Array(1024);
  count = 0;

  process([[channel]]) {
    for (const sample of channel ?? []) {
      this.part[this.count++] = Math.max(-32768, Math.min(32767, Math.round(32768 * sample)));
      if (this.count < this.part.length) continue;
      this.port.postMessage(this.part);
      this.count = 0;
    }
    return true;
  }
}

registerProcessor("listening", Listening);
