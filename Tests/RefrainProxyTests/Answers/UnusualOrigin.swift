// SPDX-License-Identifier: MIT
import Foundation
import RefrainLocks
import TestSupport

/// An origin whose every response deviates from the rules in some way, as origins have been reported
/// to do: its heads are careless, its validators change, it refuses ranges, it cuts bodies. What it
/// says of the bytes themselves is true, or contradicts itself.
///
/// The seed determines the deviations in the order of the requests.
final class UnusualOrigin: Sendable {
  /// How the validators of a resource relate to its bytes.
  enum Kind: Int, CaseIterable, Sendable {
    /// One version.
    case steady
    /// One version, another ETag in each response.
    case otherTag
    /// Other bytes and another ETag from time to time.
    case replaced
    /// Other bytes under the same ETag, with another length.
    case sameTag
    /// Other bytes without any validator, with another length.
    case untagged
    /// Other bytes and another ETag in each response.
    case inserted

    /// Whether only the length tells versions apart: each response then has to state it.
    var needsLength: Bool { self == .sameTag || self == .untagged }
  }

  struct Version: Sendable {
    var bytes: SyntheticBytes
    var length: Int
    var tag: String?

    func body(_ range: Range<Int>) -> [UInt8] {
      bytes.bytes(in: Int64(range.lowerBound)..<Int64(range.upperBound))
    }

    /// Whether these are the version's bytes at an offset.
    func has(_ received: [UInt8], at offset: Int) -> Bool {
      guard offset + received.count <= length else { return false }
      let few = min(64, received.count)
      return areEqual(body(offset..<offset + few), Array(received.prefix(few)))
        && areEqual(body(offset..<offset + received.count), received)
    }
  }

  private struct State {
    var random: SeededGenerator
    var isUnusual = true
    var answers = 0
    var versions: [String: [Version]] = [:]
  }

  private let state: Mutex<State>

  init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

  /// The number of requests that were responded to.
  var answers: Int { state.withLock(\.answers) }

  /// From now on no response deviates.
  func behave() { state.withLock { $0.isUnusual = false } }

  static func path(_ kind: Kind, _ index: Int) -> String { "/\(kind.rawValue)/\(index).mp3" }

  /// The versions that the origin has had at a path, in their order.
  func versions(_ path: String) -> [Version] { state.withLock { $0.versions[path] ?? [] } }

  /// Responds to the requests of one connection until it ends.
  func serve(_ connection: RawServer.Connection) {
    while true {
      let request = Request(connection.readRequest())
      guard let request, let answer = answer(request) else { return }
      guard connection.send(answer.bytes), answer.isKept else { return }
    }
  }

  // MARK: Requests

  private struct Request {
    var path: String
    var range: Range<Int>?
    var ifRange: String?
    var ifNoneMatch: String?
    var hasCookie: Bool

    init?(_ text: String) {
      let lines = text.components(separatedBy: "\r\n")
      let words = lines[0].split(separator: " ")
      guard words.count == 3 else { return nil }
      path = String(words[1])
      func field(_ name: String) -> String? {
        lines.dropFirst().first { $0.lowercased().hasPrefix(name + ":") }.map {
          $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces)
        }
      }
      if let value = field("range"), value.hasPrefix("bytes=") {
        let ends = value.dropFirst("bytes=".count).split(
          separator: "-", omittingEmptySubsequences: false)
        if ends.count == 2, let first = Int(ends[0]) {
          range = first..<(Int(ends[1]).map { $0 + 1 } ?? .max)
        }
      }
      ifRange = field("if-range")
      ifNoneMatch = field("if-none-match")
      hasCookie = field("cookie") != nil
    }
  }

  // MARK: Responses

  private struct Answer {
    var bytes: [UInt8]
    var isKept = true
  }

  /// - Returns: nil: the connection ends without a response.
  private func answer(_ request: Request) -> Answer? {
    state.withLock { state in
      state.answers += 1
      let version = Self.version(request.path, &state)
      let isUnusual = state.isUnusual && state.random.chance(3, in: 4)
      guard isUnusual else { return Self.usual(request, version).answer }
      if state.random.chance(1, in: 8) {
        return Self.refusal(request, version, &state.random)
      }
      var response = Self.usual(request, version)
      let kind = Self.kind(request.path)
      for _ in 0..<(1 + state.random.number(below: 3)) {
        Self.deviate(&response, request, version, kind, &state.random)
      }
      return response.answer
    }
  }

  private static func kind(_ path: String) -> Kind {
    path.split(separator: "/").first.flatMap { Int($0) }.flatMap { Kind(rawValue: $0) } ?? .steady
  }

  private static func version(_ path: String, _ state: inout State) -> Version {
    let kind = kind(path)
    let versions = state.versions[path] ?? []
    var isOther = versions.isEmpty
    if !isOther, state.isUnusual {
      switch kind {
      case .steady, .otherTag: break
      case .replaced, .sameTag, .untagged: isOther = state.random.chance(1, in: 12)
      case .inserted: isOther = true
      }
    }
    if isOther {
      // A length of its own for each version: sometimes nothing else tells them apart.
      let length = 20_000 + state.random.number(below: 1000) * 64 + versions.count % 64
      let bytes = SyntheticBytes(seed: state.random.next())
      let tag: String? =
        switch kind {
        case .untagged: nil
        case .sameTag: "\"same\""
        case .steady, .otherTag, .replaced, .inserted: "\"\(bytes.seed)\""
        }
      state.versions[path, default: []].append(Version(bytes: bytes, length: length, tag: tag))
    }
    var version = state.versions[path]?.last ?? Version(bytes: .init(seed: 0), length: 0)
    if kind == .otherTag, state.isUnusual { version.tag = "\"\(state.random.next())\"" }
    return version
  }

  /// A response as it is put together: the head as lines, and the body.
  private struct Response {
    var status = 200
    var fields: [String] = []
    var lengthFields: [String] = []
    var body: [UInt8]
    var isChunked = false
    var lineEnds = ["\r\n"]
    var extra: [UInt8] = []
    var isKept = true

    var answer: Answer {
      var lines = ["HTTP/1.1 \(status) Status"] + fields + lengthFields
      if isChunked { lines.append("Transfer-Encoding: chunked") }
      var bytes: [UInt8] = []
      for (index, line) in (lines + [""]).enumerated() {
        // Latin-1: some fields have bytes that are not UTF-8.
        bytes += line.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        bytes += Array(lineEnds[index % lineEnds.count].utf8)
      }
      if isChunked {
        var rest = body[...]
        while !rest.isEmpty {
          let piece = rest.prefix(9000)
          bytes += Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10]
          rest = rest.dropFirst(piece.count)
        }
        bytes += Array("0\r\n\r\n".utf8)
      } else {
        bytes += body
      }
      return Answer(bytes: bytes + extra, isKept: isKept)
    }
  }

  /// The response as it should be. No 304 under a tag that two versions share.
  private static func usual(_ request: Request, _ version: Version) -> Response {
    var fields = ["Content-Type: audio/mpeg", "Cache-Control: no-cache"]
    if let tag = version.tag { fields.append("ETag: \(tag)") }
    if let tag = version.tag, tag != "\"same\"", request.ifNoneMatch == tag {
      return Response(status: 304, fields: fields, body: [])
    }
    let all = 0..<version.length
    guard let asked = request.range, request.ifRange == nil || request.ifRange == version.tag else {
      return Response(
        fields: fields, lengthFields: ["Content-Length: \(version.length)"],
        body: version.body(all))
    }
    let range = asked.clamped(to: all)
    guard asked.lowerBound < version.length else {
      return Response(
        status: 416, fields: fields + ["Content-Range: bytes */\(version.length)"],
        lengthFields: ["Content-Length: 0"], body: [])
    }
    fields.append(
      "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(version.length)")
    return Response(
      status: 206, fields: fields, lengthFields: ["Content-Length: \(range.count)"],
      body: version.body(range))
  }

  /// A response without the resource's bytes, or one whose framing is unsafe to believe.
  private static func refusal(
    _ request: Request, _ version: Version, _ random: inout SeededGenerator
  ) -> Answer? {
    var response = usual(request, version)
    response.isKept = false
    let count = response.body.count
    switch random.number(below: 9) {
    case 0: return nil
    case 1 where request.range != nil:
      response.status = [400, 403, 405, 416, 501].randomElement(using: &random) ?? 400
      response.fields = []
      response.lengthFields = ["Content-Length: 4"]
      response.body = Array("none".utf8)
    case 2: response.lengthFields = ["Content-Length: \(count)", "Content-Length: \(count / 2)"]
    case 3: response.lengthFields = ["Content-Length: \(count), \(count + 1)"]
    case 4: response.lengthFields = ["Content-Length: +\(count / 2)"]
    case 5: response.lengthFields = ["Content-Length: \(count / 10) \(count % 10)"]
    case 6: response.fields.append("Transfer-Encoding: xchunked")
    case 7: response.fields.append("Transfer-Encoding: chunked, identity")
    default:
      guard !request.hasCookie else { break }
      response.status = 302
      response.fields = ["Location: \(request.path)", "Set-Cookie: seen=1; Path=/"]
      response.lengthFields = ["Content-Length: 0"]
      response.body = []
    }
    return response.answer
  }

  private static let boundless = "99999999999999999999"

  /// Adds one deviation that no client minds, or that a client can notice.
  private static func deviate(
    _ response: inout Response, _ request: Request, _ version: Version, _ kind: Kind,
    _ random: inout SeededGenerator
  ) {
    let hasBody = response.status == 200 || response.status == 206
    // A cut that nothing contradicts is none that a client could notice.
    let isWhole = hasBody && response.body.count == version.length
    let hasLength = !response.lengthFields.contains { $0.hasSuffix(boundless) }
    switch random.number(below: 17) {
    case 0 where response.status == 200: response.status = 203
    case 1: response.lengthFields += response.lengthFields
    // As stated, also of a body that is cut: the length of what is left of it would hide the cut.
    case 2 where hasLength:
      response.lengthFields = response.lengthFields.prefix(1).map {
        $0 + ", " + $0.drop { !$0.isNumber }
      }
    case 3:
      response.lengthFields = response.lengthFields.map {
        $0.replacingOccurrences(of: ":", with: " :")
      }
    case 4: response.lineEnds = ["\n"]
    case 5: response.lineEnds = ["\r\n", "\n"]
    case 6: response.fields.append("Transfer-Encoding: identity")
    // A 206 states the length in Content-Range.
    case 7 where response.status == 206 || isWhole && !kind.needsLength: response.isChunked = true
    case 8 where response.status == 206 || isWhole && !kind.needsLength:
      response.isChunked = true
      response.lengthFields = []
    case 9
    where response.status == 200 && isWhole && !kind.needsLength && !response.isChunked
      && response.extra.isEmpty:
      response.lengthFields = ["Content-Length: \(boundless)"]
      response.isKept = false
    case 10: response.fields.append("X-Title: caf\u{e9} \u{ff}")
    case 11: response.fields.append("X-Title: a\u{1}b\u{7f}c")
    case 12: response.fields.append("X Title()\u{e9}: a")
    case 13:
      let word = ["none", "identity", "binary", "utf-8", "aws-chunked"].randomElement(
        using: &random)
      response.fields.append("Content-Encoding: \(word ?? "none")")
    // Where the end of the connection ends the body, more bytes are a part of it.
    case 14 where hasBody && !response.isChunked && response.isKept:
      response.extra = Array("MORE THAN ANNOUNCED".utf8)
    case 15 where response.status == 206:
      let index = response.fields.firstIndex { $0.hasPrefix("Content-Range") }
      guard let index, let range = request.range?.clamped(to: 0..<version.length) else { return }
      switch random.number(below: 4) {
      case 0: response.fields.remove(at: index)
      case 1:
        response.fields[index] =
          "Content-Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)/\(version.length)"
      case 2:
        response.lengthFields = ["Content-Length: \(range.count - 1)"]
        response.isKept = false
      default:
        response.lengthFields = ["Content-Length: \(version.length)"]
        response.isKept = false
      }
    case 16 where hasBody && hasLength && !response.isChunked && response.extra.isEmpty:
      response.body = Array(response.body.prefix(random.number(below: response.body.count + 1)))
      response.isKept = false
    default: break
    }
  }
}
