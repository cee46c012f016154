// SPDX-License-Identifier: MIT
import Foundation

/// Decodes documents that arrive compressed although every request asks for identity. Other
/// resources in a content coding are refused (`ResponseCheck`): ranges of them have other bytes.
///
/// A document is decoded as a whole, before anything of it is used: the response then has a known
/// length, and a body that ends too early is an error like a broken connection.
extension OriginExchange {
  /// Returns the response with its body decoded, if it brings a whole document in a coding that can
  /// be decoded, or that the transport decodes; otherwise the response as it is.
  ///
  /// - Throws: as reading the body; `MediaCacheError` if it is damaged, or longer than any document.
  func decoded(_ response: Response) async throws -> Response {
    guard WholeResponse.statuses.contains(response.status) else { return response }
    let decoder = response.isDecoded ? nil : Self.decoder(of: response)
    guard response.isDecoded || decoder != nil else { return response }
    let longest = response.request.documents?.longest ?? 0
    // Bytes that cannot be compressed become slightly longer.
    let limit = decoder == nil ? longest : longest + 64 << 10
    guard response.headers.bodyLength ?? 0 <= limit else { throw Self.tooLong(longest) }
    var body = Data()
    expectBody(isFirst: true)
    for try await chunk in response.body {
      guard Int64(body.count + chunk.count) <= limit else { throw Self.tooLong(longest) }
      body.append(chunk)
      expectBody(isFirst: false)
    }
    rest()
    if let decoder {
      do {
        body = try decoder(body, Int(longest))
      } catch .truncated {
        throw Self.undecodable(response, "ends too early", .invalid)
      } catch .invalid {
        let coding = response.headers["Content-Encoding"] ?? "encoded"
        throw Self.undecodable(response, "is damaged, or is not \(coding)", .permanent)
      } catch .tooLong {
        throw Self.tooLong(longest)
      }
    }
    var decoded = response.withBody(body)
    decoded.headers.dropCoding()
    decoded.headers.append("Content-Length", String(body.count))
    return decoded
  }

  /// Whether a response to a range brings a part of an encoded document, which cannot be decoded: the
  /// same request without the range brings the whole one.
  static func isPartOfEncodedDocument(_ response: Response) -> Bool {
    response.status == 206 && decoder(of: response) != nil
  }

  /// Returns the decoder of an encoded document.
  private static func decoder(of response: Response) -> DocumentDecoder? {
    let type = MediaType.essence(response.headers["Content-Type"])
    guard let coding = response.headers["Content-Encoding"],
      response.request.isForDocument(mimeType: type)
    else { return nil }
    return response.request.documents?.decoder(of: coding)
  }

  private static func undecodable(
    _ response: Response, _ what: String, _ retry: RetryPolicy.Failure
  ) -> MediaCacheError {
    var error = MediaCacheError(
      .unreachable,
      "The compressed document that \(response.url.host() ?? "the origin") sent \(what).",
      remedy: "Repair the document, or turn off its compression at the origin.")
    error.retry = retry
    return error
  }

  /// A client that can decode such a body may use the response as it is.
  private static func tooLong(_ longest: Int64) -> MediaCacheError {
    var error = MediaCacheError(
      .invalidResponse,
      "The origin sends a compressed document of more than \(longest >> 20) MiB.",
      remedy: "Shorten the document, or turn off its compression at the origin.")
    error.isEncoded = true
    return error
  }
}

extension OriginRequest {
  /// Whether a response of that type is a document.
  func isForDocument(mimeType: String?) -> Bool {
    documents?.isDocument(mimeType: mimeType, url: url) == true || expectsDocument
  }
}

extension HeaderFields {
  /// Removes the fields that describe an encoded body, from a response whose body was decoded. Its
  /// validators remain: they identify the version, whose decoded bytes are always the same.
  mutating func dropCoding() {
    for name in [
      "Content-Encoding", "Content-Length", "Transfer-Encoding", "Content-MD5", "Content-Digest",
      "Repr-Digest", "Digest", "Accept-Ranges",
    ] {
      self[name] = nil
    }
  }
}
