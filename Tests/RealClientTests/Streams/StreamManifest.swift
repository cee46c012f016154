// SPDX-License-Identifier: MIT
import Foundation

/// Changes to the DASH manifests that ffmpeg writes (ISO/IEC 23009-1).
enum StreamManifest {
  /// Returns the manifest with a base URL for all of its references.
  static func withBase(_ url: URL, in text: String) -> String {
    text.replacing(
      "<Period", with: "<BaseURL>\(url.absoluteString)</BaseURL>\n\t<Period", maxReplacements: 1)
  }

  /// Returns the manifest with its templates, whose `$` must stay, spelled otherwise.
  static func spelled(
    _ text: String, _ spelling: StreamReferences.Spelling, base: URL
  ) -> String {
    let folder = spelling.spell(base.deletingLastPathComponent())
    return text.replacing(/\s(initialization|media)="/) { " \($0.1)=\"\(folder)" }
  }

  struct NoIndex: Error {
    let name: String
  }

  /// Writes a manifest whose segments are found by the index (`sidx`) at the head of each file,
  /// which ffmpeg writes and does not refer to.
  static func writeWithSegmentBase(in directory: URL) throws {
    func segmentBase(_ name: String) throws -> String {
      let data = try Data(contentsOf: directory.appending(path: name))
      // The box's size precedes its name: ISO/IEC 14496-12 §4.2.
      guard let type = data.range(of: Data("sidx".utf8)), type.lowerBound >= 4 else {
        throw NoIndex(name: name)
      }
      let start = type.lowerBound - 4
      let size = data[start..<type.lowerBound].reduce(0) { $0 << 8 | Int($1) }
      return """
        <BaseURL>\(name)</BaseURL>
        <SegmentBase indexRange="\(start)-\(start + size - 1)">
        <Initialization range="0-\(start - 1)" />
        </SegmentBase>
        """
    }
    let text = """
      <?xml version="1.0" encoding="utf-8"?>
      <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"
        profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"
        mediaPresentationDuration="PT9.0S" minBufferTime="PT4.0S">
      <Period id="0" start="PT0.0S">
      <AdaptationSet id="0" contentType="video" startWithSAP="1" segmentAlignment="true">
      <Representation id="0" mimeType="video/mp4" codecs="avc1.42c00b" bandwidth="100000"
        width="160" height="90">
      \(try segmentBase("all0.mp4"))
      </Representation>
      </AdaptationSet>
      <AdaptationSet id="1" contentType="audio" startWithSAP="1" segmentAlignment="true">
      <Representation id="1" mimeType="audio/mp4" codecs="mp4a.40.2" bandwidth="48000"
        audioSamplingRate="44100">
      \(try segmentBase("all1.mp4"))
      </Representation>
      </AdaptationSet>
      </Period>
      </MPD>

      """
    try Data(text.utf8).write(to: directory.appending(path: "index.mpd"))
  }
}
