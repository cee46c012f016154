// SPDX-License-Identifier: MIT
#if os(Linux)

  /// Parses the head of a response from the lines that libcurl passes on. A pure value.
  ///
  /// Reads what clients read: lines that end with LF alone, white space before a colon, repeated
  /// equal lengths, values that are not UTF-8. A field that cannot be read is dropped, unless it
  /// decides which bytes the body has or who may keep them. Where one response's bytes could be
  /// mistaken for another's, the head is malformed: lengths that differ, or are no number; transfer
  /// codings other than chunked (RFC 9112 §6).
  struct CurlHeadReader {
    struct Head: Sendable, Hashable {
      var status: Int
      /// With one Content-Length at most, and none beside a transfer coding.
      var headers: HeaderFields
      /// Whether libcurl does not know the length, and would wait for the end of the connection.
      var isCounted = false
    }

    /// Why a head is malformed.
    struct Fault: Error {
      /// They follow "violates HTTP: ".
      var words: String
    }

    /// A field whose lines have been read so far.
    private struct Field {
      var name: ArraySlice<UInt8>
      var value: ArraySlice<UInt8>
      var isFolded = false
    }

    private var status: Int?
    private var lines: [Field] = []

    /// - Parameter line: one line, with its end.
    /// - Returns: the head once it is whole. Another one follows that of an interim response (1xx).
    mutating func read(_ line: UnsafeRawBufferPointer) throws(Fault) -> Head? {
      var line = Array(line)[...]
      // Some servers end lines with LF alone (RFC 9112 §2.2).
      if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      guard let status else {
        status = try Self.status(line)
        return nil
      }
      guard let first = line.first else {
        defer { self = CurlHeadReader() }
        return try head(status)
      }
      if first.isOWS, !lines.isEmpty {
        // One value in several lines, which is obsolete (RFC 9112 §5.2).
        lines[lines.count - 1].value += [UInt8(ascii: " ")] + line.trimmingOWS
        lines[lines.count - 1].isFolded = true
        return nil
      }
      // libcurl ends the head before a CR.
      guard !first.isOWS, first != UInt8(ascii: "\r"),
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
      else {
        throw Fault(words: "its response has an invalid header")
      }
      lines.append(Field(name: line[..<colon], value: line[(colon + 1)...]))
      return nil
    }

    private static func status(_ line: ArraySlice<UInt8>) throws(Fault) -> Int {
      guard line.allSatisfy(\.isValueByte) else {
        throw Fault(words: "its response head contains control characters")
      }
      let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
      // "ICY" is SHOUTcast's.
      guard parts.count > 1, ["HTTP/1.1", "HTTP/1.0", "ICY"].contains(parts[0]),
        parts[1].utf8.count == 3, let code = Int64(digits: parts[1]), code >= 100
      else { throw Fault(words: "its response has no valid status") }
      return Int(code)
    }

    /// Adds a field, or drops it.
    private static func add(_ field: Field, to fields: inout HeaderFields) throws(Fault) {
      // A proxy removes white space before the colon (RFC 9112 §5.1).
      let bytes = field.name.trimmingOWS
      let isPlain = bytes.count == field.name.count
      let name = String(decoding: bytes, as: UTF8.self)
      let isValid = name.isToken && field.value.allSatisfy(\.isValueByte)
      let resembled = String(decoding: bytes.filter(\.isTokenCharacter), as: UTF8.self).lowercased()
      if decisive.contains(resembled) {
        let isFraming = framing.contains(resembled)
        guard isValid, !(isFraming && field.isFolded), isPlain || resembled != "transfer-encoding"
        else { throw Fault(words: "its \(resembled) cannot be read") }
      }
      if isValid { fields.append(name, text(field.value.trimmingOWS, of: resembled)) }
    }

    private static let framing: Set<String> = ["content-length", "transfer-encoding"]
    /// Fields without which the response would have another meaning.
    private static let decisive = framing.union([
      "content-range", "content-encoding", "cache-control", "vary",
    ])

    /// Bytes that are not UTF-8 are ISO 8859-1 (RFC 9110 §5.5).
    private static func text(_ bytes: ArraySlice<UInt8>, of name: String) -> String {
      if let text = String(validating: bytes, as: UTF8.self) { return text }
      switch name {
      // The same bytes are requested.
      case "location", "content-location":
        return bytes.map { byte in
          byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16)
        }.joined()
      // A tag that cannot be sent back still distinguishes generations.
      case "etag": return bytes.starts(with: "W/".utf8) ? latin(bytes) : "W/" + latin(bytes)
      default: return latin(bytes)
      }
    }

    private static func latin(_ bytes: ArraySlice<UInt8>) -> String {
      String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }

    // MARK: The whole head

    private func head(_ status: Int) throws(Fault) -> Head {
      var head = Head(status: status, headers: [:])
      for line in lines { try Self.add(line, to: &head.headers) }
      if status < 200 {
        // No request asks for another protocol.
        guard status != 101 else {
          throw Fault(words: "its response switches to a protocol that was not requested")
        }
        return head
      }
      guard !head.headers.hasInvalidLength else {
        throw Fault(words: "its response has an invalid Content-Length")
      }
      var isKnown = false
      switch head.headers.values(of: "Transfer-Encoding").map({ $0.lowercased() }) {
      case []:
        // With white space before the colon, libcurl does not read it.
        isKnown = lines.contains {
          String(decoding: $0.name, as: UTF8.self).lowercased() == "content-length"
        }
      case ["identity"]:
        // The absence of a coding (RFC 2616 §3.6), beside which libcurl ignores Content-Length.
        head.headers["Transfer-Encoding"] = nil
      case ["chunked"]:
        // The coding counts (RFC 9112 §6.3).
        head.headers["Content-Length"] = nil
        return head
      default: throw Fault(words: "its response has a transfer coding that was not requested")
      }
      guard let count = head.headers.bodyLength else {
        head.headers["Content-Length"] = nil
        return head
      }
      if head.headers.values(of: "Content-Length") != [String(count)] {
        head.headers["Content-Length"] = String(count)
      }
      head.isCounted = !isKnown
      return head
    }
  }

  extension ArraySlice<UInt8> {
    fileprivate var trimmingOWS: ArraySlice<UInt8> {
      let end = lastIndex { !$0.isOWS }.map { $0 + 1 } ?? startIndex
      return self[..<end].drop(while: \.isOWS)
    }
  }
#endif
