// SPDX-License-Identifier: MIT

import Foundation

/// Responses to requests, as values of the time.
extension LiveStream {
  /// How the origin responds to a request at a time.
  enum Response {
    case resource(OriginResource)
    /// The response waits until this time, and is decided then.
    case wait(until: Duration)
    case status(Int)
  }

  /// Returns the response to a request at a time.
  ///
  /// - Parameters:
  ///   - target: the name of the resource, and its query.
  ///   - rangeStart: the first byte that a Range requests.
  func response(to target: Substring, rangeStart: Int64? = nil, at time: Duration) -> Response {
    let name = target.prefix { $0 != "?" }
    let query = target.dropFirst(name.count + 1)
    if name == Self.listName { return playlistResponse(query, at: time) }
    if name == "init.mp4", let initialization {
      return .resource(
        resource(initialization, etag: "init", type: "video/mp4", since: .zero))
    }
    let words = name.split(separator: ".")
    guard words.last == suffix[...], let first = words.first, first.hasPrefix("s"),
      let segment = Int(first.dropFirst()).map({ self.segment(numbered: $0, at: time) }),
      segments.indices.contains(segment),
      segment >= firstKept(at: extent(at: time))
    else { return .status(404) }
    switch words.count {
    case 2: return segmentResponse(segment, rangeStart: rangeStart, at: time)
    case 3: return Int(words[1]).map { partResponse(segment, $0, at: time) } ?? .status(404)
    default: return .status(404)
    }
  }

  // MARK: The playlist

  /// Follows the delivery directives (draft-pantos-hls-rfc8216bis §6.2.5).
  private func playlistResponse(_ query: Substring, at time: Duration) -> Response {
    let directives = Self.parameters(query)
    let extent = extent(at: time)
    guard extent > Extent(segments: 0) else {
      return .wait(until: listing(of: 0, part: lowLatency == nil ? nil : 0) ?? time)
    }
    let skips = directives["_HLS_skip"] == "YES" || directives["_HLS_skip"] == "v2"
    guard lowLatency != nil, !isEnded(at: extent) else {
      return list(at: time, skips: skips)
    }
    let part = directives["_HLS_part"]
    guard let text = directives["_HLS_msn"] else {
      return part == nil ? list(at: time, skips: skips) : .status(400)
    }
    guard let segment = Int(text), segment >= 0, segment <= extent.segments + 1,
      part == nil || part.flatMap({ Int($0) }).map({ $0 >= 0 }) == true
    else { return .status(400) }
    guard let due = listing(of: segment, part: part.flatMap { Int($0) }), due > time else {
      return list(at: time, skips: skips)
    }
    return .wait(until: due)
  }

  private func list(at time: Duration, skips: Bool) -> Response {
    let extent = extent(at: time)
    let etag = "l\(extent.segments).\(extent.parts)\(skips ? "-delta" : "")"
    let text = playlist(at: time, skips: skips)
    return .resource(
      resource(
        Array(text.utf8), etag: etag, type: "application/vnd.apple.mpegurl",
        since: extent.segments > 0 ? completion(of: extent.segments - 1) : .zero))
  }

  private static func parameters(_ query: Substring) -> [Substring: Substring] {
    var parameters: [Substring: Substring] = [:]
    for pair in query.split(separator: "&") {
      let name = pair.prefix { $0 != "=" }
      parameters[name] = pair.dropFirst(name.count + 1)
    }
    return parameters
  }

  // MARK: Segments and parts

  private func segmentResponse(
    _ segment: Int, rangeStart: Int64?, at time: Duration
  ) -> Response {
    let bytes = segments[segment].bytes
    let due = completion(of: segment)
    if due <= time {
      return .resource(resource(bytes, etag: "s\(segment)", type: mediaType, since: due))
    }
    let extent = extent(at: time)
    // A range of a segment that is being written, as far as it is.
    guard lowLatency?.usesByteRanges == true, segment == next(at: extent).segments,
      let rangeStart
    else { return .status(404) }
    let parts = segment == extent.segments ? extent.parts : 0
    let end = parts > 0 ? range(of: segment, part: parts - 1).upperBound : 0
    guard rangeStart < end else { return .wait(until: completion(of: segment, part: parts)) }
    var growing = resource(
      Array(bytes[..<end]), etag: "s\(segment)", type: mediaType, since: time)
    growing.declaresLength = false
    return .resource(growing)
  }

  private func partResponse(_ segment: Int, _ part: Int, at time: Duration) -> Response {
    guard lowLatency?.usesByteRanges == false, (0..<partCount(of: segment)).contains(part) else {
      return .status(404)
    }
    let extent = extent(at: time)
    let due = completion(of: segment, part: part)
    if due <= time {
      let bytes = segments[segment].bytes[range(of: segment, part: part)]
      return .resource(
        resource(Array(bytes), etag: "s\(segment).\(part)", type: mediaType, since: due))
    }
    // The part that the playlist hints at.
    return Extent(segments: segment, parts: part) == next(at: extent)
      ? .wait(until: due) : .status(404)
  }

  private var mediaType: String { suffix == "ts" ? "video/mp2t" : "video/mp4" }

  /// - Parameter change: when the bytes were written.
  private func resource(
    _ bytes: [UInt8], etag: String, type: String, since change: Duration
  ) -> OriginResource {
    OriginResource(
      .bytes(bytes), contentType: type, etag: sendsETags ? "\"\(etag)\"" : nil,
      lastModified: modified.map { $0 + change / .seconds(1) })
  }
}
