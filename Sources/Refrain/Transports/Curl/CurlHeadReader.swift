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

    private let host: String
    private var status: Int?
    private var lines: [(name: ArraySlice<UInt8>, value: ArraySlice<UInt8>)] = []

    init(host: String) { self.host = host }

    /// - Returns: the head once it is whole. Another one follows that of an interim response (1xx).
    mutating func read(_ line: UnsafeRawBufferPointer) throws(TransportError) -> Head? {
      var line = Array(line)[...]
      // Some servers end lines with LF alone (RFC 9112 §2.2).
      if line.last == UInt8(ascii: "\n") { line = line.dropLast() }
      if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
      guard let status else {
        status = try readStatus(line)
        return nil
      }
      guard let first = line.first else {
        defer { self = CurlHeadReader(host: host) }
        return try head(status)
      }
      if first.isOWS, !lines.isEmpty {
        // One value in several lines, which is obsolete (RFC 9112 §5.2). No line contains LF.
        lines[lines.count - 1].value += [UInt8(ascii: "\n")] + line.trimmingOWS
        return nil
      }
      // libcurl ends the head before a CR.
      guard !first.isOWS, first != UInt8(ascii: "\r"),
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
      else { throw .malformed(host, "it has an invalid header") }
      lines.append((line[..<colon], line[(colon + 1)...]))
      return nil
    }

    private func readStatus(_ line: ArraySlice<UInt8>) throws(TransportError) -> Int {
      let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
      // "ICY" is SHOUTcast's.
      guard line.allSatisfy(\.isValueByte), parts.count > 1,
        ["HTTP/1.1", "HTTP/1.0", "ICY"].contains(parts[0]), parts[1].utf8.count == 3,
        let code = Int64(digits: parts[1]), code >= 100
      else { throw .malformed(host, "it has no valid status") }
      return Int(code)
    }

    private func add(
      _ spelled: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>, to fields: inout HeaderFields
    ) throws(TransportError) {
      // A proxy removes white space before the colon (RFC 9112 §5.1).
      let bytes = spelled.trimmingOWS
      let isPlain = bytes.count == spelled.count
      let name = String(decoding: bytes, as: UTF8.self)
      let resembled = String(decoding: bytes.filter(\.isTokenCharacter), as: UTF8.self).lowercased()
      var value = value
      // libcurl may read a folded length or transfer coding in another way: they stay invalid.
      if resembled != "content-length", resembled != "transfer-encoding" {
        value = value.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: " ") : $0 }[...]
      }
      let isValid = name.isToken && value.allSatisfy(\.isValueByte)
      if Self.decisive.contains(resembled),
        !isValid || (!isPlain && resembled == "transfer-encoding")
      {
        throw .malformed(host, "its \(resembled) cannot be read")
      }
      if isValid { fields.append(name, Self.text(value.trimmingOWS)) }
    }

    /// Fields without which the response would have another meaning.
    private static let decisive: Set = [
      "content-length", "transfer-encoding", "content-range", "content-encoding", "cache-control",
      "vary",
    ]

    /// Bytes that are not UTF-8 are ISO 8859-1 (RFC 9110 §5.5).
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
      String(validating: bytes, as: UTF8.self)
        ?? String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }

    private func head(_ status: Int) throws(TransportError) -> Head {
      var head = Head(status: status, headers: [:])
      for (name, value) in lines { try add(name, value, to: &head.headers) }
      // No request asks for another protocol.
      guard status != 101 else { throw .malformed(host, "it switches to another protocol") }
      if status < 200 { return head }
      guard !head.headers.hasInvalidLength else {
        throw .malformed(host, "it has an invalid Content-Length")
      }
      let codings = head.headers.values(of: "Transfer-Encoding").map { $0.lowercased() }
      guard [[], ["identity"], ["chunked"]].contains(codings) else {
        throw .malformed(host, "it has a transfer coding that was not requested")
      }
      // The absence of a coding (RFC 2616 §3.6).
      if codings == ["identity"] { head.headers["Transfer-Encoding"] = nil }
      let announced = head.headers.bodyLength
      // libcurl reads no length with white space before the colon, or beside a coding.
      let isRead =
        codings.isEmpty
        && lines.contains {
          String(decoding: $0.name, as: UTF8.self).lowercased() == "content-length"
        }
      head.isCounted = announced != nil && !isRead
      let length = announced.map { String($0) }
      if length != head.headers["Content-Length"] { head.headers["Content-Length"] = length }
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
