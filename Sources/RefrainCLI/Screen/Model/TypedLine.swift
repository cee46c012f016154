// SPDX-License-Identifier: MIT
import Foundation
import RefrainPlayer

/// A line that is being typed at the foot of the screen. A pure value.
struct TypedLine: Sendable, Hashable {
  enum Purpose: Sendable, Hashable {
    /// A position in the item.
    case time
    /// Paths and URLs to add to the queue: several, if lines are pasted.
    case addition
  }

  let purpose: Purpose
  private(set) var text = ""

  init(_ purpose: Purpose) { self.purpose = purpose }

  private var longest: Int {
    switch purpose {
    // `1:02:03.5` is about the longest that makes sense.
    case .time: 12
    case .addition: 64 << 10
    }
  }

  mutating func type(_ typed: String) {
    let fitting: String
    switch purpose {
    case .time:
      fitting = typed.filter { $0.isASCII && ($0.isNumber || ":.-".contains($0)) }
    case .addition:
      // Terminals paste the ends of lines as carriage returns.
      fitting = String(typed.map { $0.isNewline ? "\n" : $0 })
    }
    text = String((text + fitting).prefix(longest))
  }

  /// Deletes the last character. Returns false if there is none.
  mutating func untype() -> Bool { text.popLast() != nil }

  mutating func clear() { text = "" }
}

// MARK: A position

extension TypedLine {
  enum Target: Hashable {
    case position(Duration)
    /// What the listener has to know.
    case refused(String)
  }

  /// Returns where the time leads in an item; nil if nothing was typed.
  ///
  /// - Parameters:
  ///   - duration: the item's, if it is known.
  ///   - live: the newest sound of a live stream, from which `-8:00` counts back.
  func target(in duration: Duration?, live: Duration? = nil) -> Target? {
    guard !text.isEmpty else { return nil }
    if text.hasPrefix("-"), let back = try? TimeText.parse(String(text.dropFirst())) {
      return live.map { .position(max(.zero, $0 - back)) }
        ?? .refused("Only live sound that is kept (--rewind) counts back from its end.")
    }
    guard let position = try? TimeText.parse(text) else {
      return .refused("\(text) is not a position. Type seconds, or as in 1:30.")
    }
    if let duration, position >= duration {
      return .refused("The item lasts \(TimeText.position(duration)).")
    }
    return .position(position)
  }
}

// MARK: Additions

extension TypedLine {
  /// Returns the paths and URLs, one per line. What a shell would do with an argument is done here:
  /// quotes around it are removed, as terminals add them to files that are dropped on them, and `~`
  /// is the home directory.
  func arguments(home: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      var line = line[...]
      while line.first?.isWhitespace == true { line.removeFirst() }
      while line.last?.isWhitespace == true { line.removeLast() }
      for quote in ["'", "\""] as [Character]
      where line.count > 1 && line.first == quote && line.last == quote {
        return String(line.dropFirst().dropLast())
      }
      guard line == "~" || line.hasPrefix("~/") else { return line.isEmpty ? nil : String(line) }
      return home + line.dropFirst()
    }
  }
}

#if os(Linux)
  /// The effect of a key on a typed line, besides the line itself.
  enum TypedLineEffect: Hashable {
    case none
    /// What the listener has to know.
    case refused(String)
    /// Paths and URLs are to be added to the queue.
    case add([String])
  }

  extension ScreenModel {
    /// Performs an action of a typed line.
    @MainActor
    mutating func perform(typing action: ScreenAction, on player: Player?) -> TypedLineEffect {
      switch action {
      case .beginTime: typedLine = TypedLine(.time)
      case .beginAddition: typedLine = TypedLine(.addition)
      case .typeLine(let text): typedLine?.type(text)
      case .untypeLine: if typedLine?.untype() == false { typedLine = nil }
      case .clearLine: typedLine?.clear()
      case .endLine: typedLine = nil
      case .enterLine: return enter(on: player)
      default: break
      }
      return .none
    }

    @MainActor
    private mutating func enter(on player: Player?) -> TypedLineEffect {
      guard let line = typedLine else { return .none }
      switch line.purpose {
      case .time:
        let target = line.target(in: player?.duration, live: player?.liveWindow?.end)
        if case .refused(let reason) = target { return .refused(reason) }
        typedLine = nil
        if case .position(let position) = target { player?.seek(to: position) }
        return .none
      case .addition:
        typedLine = nil
        let home = ProcessInfo.processInfo.environment["HOME"] ?? "~"
        let arguments = line.arguments(home: home)
        return arguments.isEmpty ? .none : .add(arguments)
      }
    }
  }
#endif
