// SPDX-License-Identifier: MIT
import Foundation

/// The strip of a row, as the proxy's page draws it.
enum PageStrip {
  /// Returns a script for the pixels of a row's strip: one letter each, for the upper lane.
  static func pixels(ofRow name: String) -> String {
    """
    (() => {
      const row = [...document.querySelectorAll(".row")]
        .find((row) => row.querySelector("b").textContent === \(JSONText.of(name)));
      if (!row) return "";
      const canvas = row.querySelector("canvas");
      const data = canvas.getContext("2d").getImageData(0, 2, canvas.width, 1).data;
      const style = getComputedStyle(document.documentElement);
      const names = {};
      for (const name of ["full", "part", "none"]) {
        const value = style.getPropertyValue("--" + name).trim();
        const bytes = [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
        names[bytes.join()] = name[0];
      }
      let text = "";
      for (let at = 0; at < data.length; at += 4) {
        text += names[[...data.slice(at, at + 3)].join()] ?? "?";
      }
      return text;
    })()
    """
  }

  /// Whether each pixel is full, none, or partly stored, as the spans say.
  static func agrees(
    _ pixels: String, with spans: RangeSet<Int64>, of length: Int64?
  ) -> Bool {
    guard let length, pixels.count > 50 else { return false }
    let width = Double(pixels.count)
    return pixels.enumerated().allSatisfy { index, letter in
      let start = Double(index) * Double(length) / width
      let end = Double(index + 1) * Double(length) / width
      let cell = Int64(start.rounded(.up))..<Int64(end.rounded(.down))
      let stored = spans.intersection(RangeSet(cell)).ranges
        .reduce(0) { $0 + $1.upperBound - $1.lowerBound }
      // The bytes at the edges of a pixel may belong to either side.
      switch letter {
      case "f": return stored == Int64(cell.count)
      case "n": return stored == 0
      case "p": return true
      default: return false
      }
    } && pixels.count { $0 == "p" } <= 2 * spans.ranges.count
  }
}
