// SPDX-License-Identifier: MIT
import Foundation

extension OriginRequest {
  /// Checks that the request can be sent; every transport calls this first. The libraries below
  /// accept more: other schemes, a header without a name. The error omits the value of a bad
  /// header, since it may be a password.
  ///
  /// - Throws: `TransportError`, `.badURL`.
  func check() throws(TransportError) {
    let scheme = url.scheme?.lowercased()
    guard scheme == "http" || scheme == "https", url.host()?.isEmpty == false else {
      let text = url.absoluteString.prefix { $0 != "?" }.prefix(200)
      throw TransportError(.badURL, "\(text) is not an http or https URL with a host.")
    }
    guard url.port.map({ (1...65_535).contains($0) }) ?? true else {
      throw TransportError(.badURL, "The URL at \(url.host() ?? "") has no valid port.")
    }
    for field in headers.fields {
      guard field.name.isToken else {
        throw TransportError(
          .badURL, "\(String(reflecting: field.name)) is not a valid header name.")
      }
      guard field.value.utf8.allSatisfy({ $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }) else {
        throw TransportError(
          .badURL, "The value of the header \(field.name) contains control characters.")
      }
    }
  }
}
