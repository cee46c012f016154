// SPDX-License-Identifier: MIT
package import Foundation

/// The references of an HLS playlist of either kind to other resources.
package struct HLSReferences: Sendable {
  /// In the order of the body, without overlaps and without those that are too long. A body that is
  /// no playlist has none.
  package var references: [ManifestReference] = []
  /// The variables that the playlist defines or imports, for the IMPORT of its children.
  package var variables: [String: String] = [:]
  /// Whether the playlist has variants, and so children that may import its variables.
  package var isMultivariant = false

  /// Whether children of the playlist may need its variables.
  package var sharesVariables: Bool { isMultivariant && !variables.isEmpty }

  /// Reads the references of a playlist, in linear time.
  ///
  /// - Parameters:
  ///   - url: the URL of the response, after redirects.
  ///   - imported: the variables of the multivariant playlist that names this one.
  package init(of body: [UInt8], url: URL, imported: [String: String] = [:]) {
    guard let reader = HLSReader(body, url: url, imported: imported) else { return }
    var scanner = HLSReferenceScanner(reader)
    while let found = scanner.next() {
      guard let text = scanner.reader.text(found.range) else { continue }
      references.append(
        ManifestReference(kind: found.kind, range: found.range, line: found.line, text: text))
    }
    isMultivariant = scanner.isMultivariant
    variables = scanner.reader.variables.values
  }
}
