// SPDX-License-Identifier: MIT
import Foundation

/// The queue as a list with a selection and a typed filter. A pure value.
struct QueueList: Sendable, Hashable {
  struct Row: Sendable, Hashable, Identifiable {
    var id: UInt64
    /// In playing order, from 1.
    var number: Int
    var title: String
    var artist: String?
    var album: String?
    /// What else the item is called: by its own metadata, or by its file.
    var otherNames: [String] = []
    var duration: Duration?
    var isCurrent = false
    var hasFailed = false
    /// The stored part, 0…1, if it is known.
    var cached: Double?
  }

  /// Setting the rows keeps the selection if its row is still there.
  var rows: [Row] = [] {
    didSet { mendSelection(in: oldValue) }
  }
  /// Nil: the selection follows the current row.
  private(set) var selected: UInt64?
  /// The typed filter; nil while there is none.
  private(set) var filter: String? {
    didSet { if filter != nil { selectAMatch() } }
  }

  var current: Row? { rows.first(where: \.isCurrent) }

  /// The rows that match the filter, in order: every word of it occurs in the title, the artist,
  /// the album or another name, ignoring case and accents.
  var matches: [Row] {
    let words = (filter ?? "").split(separator: " ")
    guard !words.isEmpty else { return rows }
    return rows.filter { row in
      let names = [row.title, row.artist ?? "", row.album ?? ""] + row.otherNames
      let text = names.joined(separator: " ")
      return words.allSatisfy {
        text.range(of: $0, options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive])
          != nil
      }
    }
  }

  /// The selected row; the current one if none is selected; with a filter, else the first match.
  var selection: Row? { selection(among: matches) }

  /// Returns the selected row.
  ///
  /// - Parameter matches: the list's, which take time in a long one.
  func selection(among matches: [Row]) -> Row? {
    matches.first { $0.id == selected } ?? matches.first(where: \.isCurrent)
      ?? (filter == nil ? nil : matches.first)
  }

  /// Returns the place of the selected row in an order of all rows; 0 if none is selected.
  func focus(in order: [UInt64]) -> Int {
    let id = selection?.id
    return order.firstIndex { $0 == id } ?? 0
  }

  // MARK: Moving

  mutating func select(by step: Int) {
    let matches = matches
    guard !matches.isEmpty else { return }
    let id = self.selection(among: matches)?.id
    guard let index = matches.firstIndex(where: { $0.id == id }) else {
      selected = step > 0 ? matches.first?.id : matches.last?.id
      return
    }
    selected = matches[min(matches.count - 1, max(0, index + step))].id
  }

  mutating func selectFirst() { selected = matches.first?.id }
  mutating func selectLast() { selected = matches.last?.id }

  /// Returns the selection to the current row.
  mutating func deselect() { selected = nil }

  // MARK: Filtering

  mutating func beginFilter() { filter = filter ?? "" }
  mutating func endFilter() { filter = nil }

  mutating func type(_ text: String) {
    guard let filter else { return }
    // No filter needs more; a paste may be of any length.
    self.filter = String((filter + printable(text)).prefix(200))
  }

  /// Deletes the last character; ends the filter if there is none.
  mutating func untype() {
    guard let filter else { return }
    self.filter = filter.isEmpty ? nil : String(filter.dropLast())
  }

  mutating func clearFilter() {
    if filter != nil { filter = "" }
  }

  private mutating func selectAMatch() {
    if !matches.contains(where: { $0.id == selected }) { selected = nil }
  }

  /// Moves the selection of a removed row to the next row left, else to the one before.
  private mutating func mendSelection(in old: [Row]) {
    guard let selected, !rows.contains(where: { $0.id == selected }) else { return }
    let left = Set(rows.map(\.id))
    guard let index = old.firstIndex(where: { $0.id == selected }) else {
      self.selected = nil
      return
    }
    self.selected =
      old[index...].first { left.contains($0.id) }?.id
      ?? old[..<index].last { left.contains($0.id) }?.id
  }
}
