// SPDX-License-Identifier: MIT
package import Foundation

/// The references of an HLS playlist of either kind to other resources.
package struct HLSReferences: Sendable {
  /// In the order of the body, without overlaps. A body that is no playlist has none.
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
    guard var reader = HLSReader(body, url: url, imported: imported) else { return }
    var kind = ManifestReference.Kind.segment
    while let line = reader.next() {
      switch line.content {
      case .uri:
        append(kind, line.text, line, &reader)
        kind = .segment
      case .tag(.variant, _):
        isMultivariant = true
        kind = .playlist
      case .tag(.segment, _):
        kind = .segment
      case .tag(let tag, let value):
        if let kind = tag.referenceKind {
          append(kind, tag.referenceAttributes, of: value, line, &reader)
        }
      case .comment:
        break
      }
    }
    variables = reader.variables.values
  }

  /// Appends every attribute of these names: of two with one name, players choose differently.
  private mutating func append(
    _ kind: ManifestReference.Kind, _ names: [String], of value: Range<Int>, _ line: HLSLine,
    _ reader: inout HLSReader
  ) {
    let attributes = reader.attributes(value)
    for attribute in attributes
    where names.contains(where: { attributes.name(of: attribute, is: $0) }) {
      append(kind, attribute.value, line, &reader)
    }
  }

  private mutating func append(
    _ kind: ManifestReference.Kind, _ range: Range<Int>, _ line: HLSLine, _ reader: inout HLSReader
  ) {
    guard let text = reader.text(range) else { return }
    references.append(ManifestReference(kind: kind, range: range, line: line.whole, text: text))
  }
}
