// SPDX-License-Identifier: MIT
#if os(Linux)

  /// Parses the head of a response from the lines that libcurl passes on. A pure value.
  ///
  /// Reads what clients read: lines that end with LF alone, white space before a colon, repeated
  /// equal lengths, values that are not UTF-8. A field that cannot be read is dropped, unless it
  /// decides which bytes the body has or who may keep them. Malformed are lengths that differ, or
  /// are no number, transfer codings other than chunked, and values in several lines, which are
  /// obsolete (RFC 9112 §5.2, §6).
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
        let parts = String(decoding: line, as: UTF8.self).split(separator: " ", maxSplits: 2)
        // "ICY" is SHOUTcast's.
        guard parts.count > 1, ["HTTP/1.1", "HTTP/1.0", "ICY"].contains(parts[0]),
          parts[1].utf8.count == 3, let code = Int64(digits: parts[1]), code >= 100
        else { throw .malformed(host, "it has no valid status") }
        status = Int(code)
        return nil
      }
      guard let first = line.first else {
        defer { self = CurlHeadReader(host: host) }
        return try head(status)
      }
      // libcurl ends the head before a CR.
      guard !first.isOWS, first != UInt8(ascii: "\r"),
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
      else { throw .malformed(host, "it has an invalid header") }
      lines.append((line[..<colon], line[(colon + 1)...]))
      return nil
    }

    private func head(_ status: Int) throws(TransportError) -> Head {
      var head = Head(status: status, headers: [:])
      var readsLength = false
      for (spelled, value) in lines {
        // A proxy removes white space before the colon (RFC 9112 §5.1).
        let name = String(String(decoding: spelled, as: UTF8.self).trimmingOWS)
        let isPlain = name.utf8.count == spelled.count
        let known = String(decoding: name.utf8.filter(\.isTokenCharacter), as: UTF8.self)
          .lowercased()
        if name.isToken, value.allSatisfy(\.isValueByte), isPlain || known != "transfer-encoding" {
          head.headers.append(name, String(Self.text(value).trimmingOWS))
          readsLength = readsLength || (isPlain && known == "content-length")
        } else if [
          "content-length", "transfer-encoding", "content-range", "content-encoding",
          "cache-control", "vary",
        ].contains(known) {
          throw .malformed(host, "its \(known) cannot be read")
        }
      }
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
      let length = head.headers.bodyLength
      // libcurl reads no length with white space before the colon, or beside a coding.
      head.isCounted = length != nil && !(readsLength && codings.isEmpty)
      let text = length.map { String($0) }
      if text != head.headers["Content-Length"] { head.headers["Content-Length"] = text }
      return head
    }

    /// Bytes that are not UTF-8 are ISO 8859-1 (RFC 9110 §5.5).
    private static func text(_ bytes: ArraySlice<UInt8>) -> String {
      String(validating: bytes, as: UTF8.self)
        ?? String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
    }
  }
#endif
