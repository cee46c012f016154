// SPDX-License-Identifier: MIT

/// The text of the playlist.
extension LiveStream {
  /// Returns the playlist at a time.
  ///
  /// - Parameters:
  ///   - time: the time of the stream's clock.
  ///   - skips: whether to leave out old segments (EXT-X-SKIP), if the stream has delta updates.
  public func playlist(at time: Duration, skips: Bool = false) -> String {
    let extent = extent(at: time)
    let first = firstListed(at: extent)
    var lines = head(first: first)
    let skipped = skips ? skippedCount(at: extent, first: first) : 0
    if skipped > 0 { lines.append("#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)") }
    if initialization != nil { lines.append("#EXT-X-MAP:URI=\"\(referencePrefix)init.mp4\"") }
    for segment in first + skipped..<max(extent.segments, first + skipped) {
      if segments[segment].isDiscontinuity { lines.append("#EXT-X-DISCONTINUITY") }
      if listsParts(of: segment, at: extent) {
        lines += parts(of: segment, count: partCount(of: segment))
      }
      let seconds = Self.seconds(segments[segment].duration)
      lines += ["#EXTINF:\(seconds),", referencePrefix + name(segment)]
    }
    if extent.segments < segments.count {
      if extent.parts > 0, segments[extent.segments].isDiscontinuity {
        lines.append("#EXT-X-DISCONTINUITY")
      }
      lines += parts(of: extent.segments, count: extent.parts)
      lines += hint(at: extent)
    }
    if isEnded(at: extent) { lines.append("#EXT-X-ENDLIST") }
    return lines.joined(separator: "\n") + "\n"
  }

  private func head(first: Int) -> [String] {
    var lines = [
      "#EXTM3U", "#EXT-X-VERSION:\(lowLatency == nil ? 6 : 9)",
      "#EXT-X-TARGETDURATION:\(targetDuration)",
    ]
    if let lowLatency {
      let holdBack = Self.seconds(lowLatency.partTarget * 3)
      var control = ["PART-HOLD-BACK=\(holdBack)", "CAN-BLOCK-RELOAD=YES"]
      if let skip = lowLatency.canSkipUntil {
        control.append("CAN-SKIP-UNTIL=\(Self.seconds(skip))")
      }
      lines.append("#EXT-X-SERVER-CONTROL:\(control.joined(separator: ","))")
      lines.append("#EXT-X-PART-INF:PART-TARGET=\(Self.seconds(lowLatency.partTarget))")
    }
    if window == nil { lines.append("#EXT-X-PLAYLIST-TYPE:EVENT") }
    lines.append("#EXT-X-MEDIA-SEQUENCE:\(first)")
    let gone = segments[..<first].count(where: \.isDiscontinuity)
    if gone > 0 { lines.append("#EXT-X-DISCONTINUITY-SEQUENCE:\(gone)") }
    return lines
  }

  private func parts(of segment: Int, count: Int) -> [String] {
    (0..<count).map { part in
      let seconds = Self.seconds(duration(of: segment, part: part))
      let isIndependent = part == 0 && !segments[segment].partEnds.isEmpty
      let start = "#EXT-X-PART:DURATION=\(seconds)" + (isIndependent ? ",INDEPENDENT=YES" : "")
      guard lowLatency?.usesByteRanges == true else {
        return "\(start),URI=\"\(referencePrefix)\(name(segment, part: part))\""
      }
      let range = range(of: segment, part: part)
      return "\(start),URI=\"\(referencePrefix)\(name(segment))\","
        + "BYTERANGE=\"\(range.count)@\(range.lowerBound)\""
    }
  }

  private func hint(at extent: Extent) -> [String] {
    guard let lowLatency else { return [] }
    let next = next(at: extent)
    guard next.segments < segments.count else { return [] }
    guard lowLatency.usesByteRanges else {
      let uri = referencePrefix + name(next.segments, part: next.parts)
      return ["#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(uri)\""]
    }
    let start = range(of: next.segments, part: next.parts).lowerBound
    return [
      "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(referencePrefix)\(name(next.segments))\","
        + "BYTERANGE-START=\(start)"
    ]
  }

  /// Returns the part that comes next: `parts` is its number in the segment numbered `segments`.
  func next(at extent: Extent) -> Extent {
    guard extent.segments < segments.count, extent.parts >= partCount(of: extent.segments) else {
      return extent
    }
    return Extent(segments: extent.segments + 1)
  }

  private func skippedCount(at extent: Extent, first: Int) -> Int {
    guard let boundary = lowLatency?.canSkipUntil, extent.segments > 0 else { return 0 }
    let newest = ends[extent.segments - 1]
    return (first..<extent.segments).prefix { newest - ends[$0] > boundary }.count
  }

  /// Returns a duration as a decimal number of seconds.
  static func seconds(_ duration: Duration) -> String {
    let micros = duration.nanoseconds / 1000
    let fraction = String(micros % 1_000_000 + 1_000_000).dropFirst()
    return "\(micros / 1_000_000).\(fraction)"
  }
}
